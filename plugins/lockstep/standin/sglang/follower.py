"""SGLang on a further node: its ranks, and an HTTP port that says 200 to whoever asks for health."""

from __future__ import annotations

import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from lockstep.standin.arguments import version_tuple
from lockstep.standin.control import Control
from lockstep.standin.log import say
from lockstep.standin.sglang import behaviour
from lockstep.standin.worker import Workers

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.layout import Layout
    from lockstep.standin.settings import Settings


class Dummy(BaseHTTPRequestHandler):
    """No model, no state."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """No access log."""

    def do_GET(self) -> None:
        """Say 200 under the names of health, whatever happens."""
        known = self.path.split("?")[0] in ("/ping", "/health", "/health_generate")
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()


def run_follower(arguments: argparse.Namespace, layout: Layout, chosen: Settings) -> int:
    """Hold this node's ranks until rank 0, or their own end, ends them."""
    workers = Workers(layout, chosen, float(arguments.dist_timeout or behaviour.RENDEZVOUS_TIMEOUT))
    asked: list[int] = []
    control, born_of, dummy = Control(chosen.control), os.getppid(), False
    deadline = time.monotonic() + chosen.orphan_seconds
    while not asked:
        control.obey()
        if not dummy and workers.ready():
            dummy = True
            signal.signal(signal.SIGTERM, lambda number, _: _on_term(number, asked, layout, chosen))
            _answer(arguments)
        lost = workers.lost()
        if lost is not None:
            say("Scheduler", f"rank {lost} ended; the node's other ranks go with it", "ERROR")
            break
        if os.getppid() == born_of:
            deadline = time.monotonic() + chosen.orphan_seconds
        elif time.monotonic() > deadline:
            break
        time.sleep(0.1)
    workers.stop(0)
    return 0


def _answer(arguments: argparse.Namespace) -> None:
    server = ThreadingHTTPServer((arguments.host or "127.0.0.1", arguments.port or 30000), Dummy)
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()


def _on_term(number: int, asked: list[int], layout: Layout, chosen: Settings) -> None:
    if version_tuple(chosen.version) >= (0, 5, 23):
        say(
            "Scheduler",
            f"SIGTERM received on node_rank {layout.node_rank}; waiting for the rank-0 ShutdownReq broadcast",
        )
    else:
        asked.append(number)
