"""``trtllm-serve``: the server of a group, whose ranks it starts itself or finds in its MPI job."""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.standin import settings
from lockstep.standin.api import Api, bind
from lockstep.standin.arguments import ArgumentError
from lockstep.standin.core import Limits
from lockstep.standin.layout import ConfigError
from lockstep.standin.log import say
from lockstep.standin.server import METRICS, Page
from lockstep.standin.settings import Settings
from lockstep.standin.trtllm import behaviour
from lockstep.standin.trtllm.arguments import parse
from lockstep.standin.trtllm.config import layout as layout_of
from lockstep.standin.trtllm.metrics import TrtllmMetrics

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.layout import Layout
    from lockstep.standin.server import Front, Server


def main(argv: list[str]) -> int:
    """Run the command line; return the exit code that the real server would end with."""
    try:
        chosen = Settings.from_environment()
    except settings.SettingError as fault:
        sys.stderr.write(f"stand-in: {fault}\n")
        return 2
    if argv == ["--version"]:
        sys.stdout.write(f"{chosen.version}\n")
        return 0
    time.sleep(chosen.import_seconds)
    try:
        arguments = parse(argv, chosen.version)
        layout = layout_of(arguments, chosen)
    except ArgumentError as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    except ConfigError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    say("main", f"stand-in for TensorRT-LLM {chosen.version}: no model is loaded, answers are made up")
    server = bind(arguments.host or "localhost", arguments.port or 8000)
    return 1 if server is None else Leader(arguments, layout, chosen, server).run()


class Leader(Api):
    """The HTTP server with the proxy of the executor."""

    def __init__(self, arguments: argparse.Namespace, layout: Layout, chosen: Settings, server: Server) -> None:
        limits = Limits(behaviour.RENDEZVOUS_TIMEOUT, behaviour.HANG, arguments.max_batch_size or 2048)
        text = Path(arguments.config).read_text() if arguments.config else ""
        self._measures = re.search(r"return_perf_metrics\W+true", text, re.IGNORECASE) is not None
        metrics = TrtllmMetrics(layout.served[0], chosen.cache_tokens)
        super().__init__(layout, chosen, limits, server, metrics, self._page)

    def _page(self, path: str, front: Front) -> Page | None:
        if path in ("/health", "/health_generate"):
            return Page(503 if front.dead else 200)
        if path == "/prometheus/metrics" and self._measures:
            return Page(200, front.metrics.render(), METRICS)
        if path == "/metrics":
            return Page(200, "[]", "application/json")
        if path == "/version":
            return Page.of({"version": self.chosen.version})
        return None

    def run(self) -> int:
        """Serve when all ranks have loaded; a dead engine leaves the server where it is."""
        while not (self.ready or self.core_gone):
            self.wait()
        if self.core_gone:
            say("APIServer", "RuntimeError: Executor worker initialization failed", "ERROR")
            return 1
        signal.signal(signal.SIGTERM, self.on_term)
        self.serve()
        while not self.asked:
            self.wait()
            if self.core_gone and not self.front.dead:
                say("APIServer", "the executor has died", "ERROR")
                self.front.die()
        self.close()
        while self.front.connections and not self.core_gone:
            time.sleep(0.05)
        self.stop_core()
        return 0
