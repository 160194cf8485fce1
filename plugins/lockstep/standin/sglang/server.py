"""SGLang's leader: what it answers to a GET, and how it ends."""

from __future__ import annotations

import os
import queue
import secrets
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lockstep.standin.api import Api, bind
from lockstep.standin.core import Limits
from lockstep.standin.log import say
from lockstep.standin.protocol import Asked, RefusedError
from lockstep.standin.server import METRICS, Page
from lockstep.standin.sglang import behaviour
from lockstep.standin.sglang.metrics import SglangMetrics

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.layout import Layout
    from lockstep.standin.server import Front, Server
    from lockstep.standin.settings import Settings

CHEAP_HEALTH = "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"


def run_leader(arguments: argparse.Namespace, layout: Layout, chosen: Settings) -> int:
    """Serve until the end; return the exit code."""
    server = bind(arguments.host or "127.0.0.1", arguments.port or 30000)
    return 1 if server is None else Leader(arguments, layout, chosen, server).run()


class Leader(Api):
    """The HTTP server with the tokenizer manager."""

    def __init__(self, arguments: argparse.Namespace, layout: Layout, chosen: Settings, server: Server) -> None:
        limits = Limits(
            float(arguments.dist_timeout or behaviour.RENDEZVOUS_TIMEOUT),
            float(arguments.watchdog_timeout or behaviour.WATCHDOG),
            arguments.max_running_requests or 256,
            dismisses=True,
        )
        self._warm = False
        self._metrics_on = bool(arguments.enable_metrics)
        keys = tuple(filter(None, [arguments.api_key]))
        metrics = SglangMetrics(layout.served[0], chosen.cache_tokens)
        super().__init__(layout, chosen, limits, server, metrics, self._page, keys)

    def _page(self, path: str, front: Front) -> Page | None:
        if path == "/health":
            cheap = os.environ.get(CHEAP_HEALTH, "").lower() in ("0", "false")
            return self._health(front, ask=not cheap)
        if path == "/health_generate":
            return self._health(front, ask=True)
        if path == "/metrics" and self._metrics_on:
            return Page(200, front.metrics.render(), METRICS)
        if path in ("/model_info", "/get_model_info"):
            return Page.of({"model_path": front.layout.model, "is_generation": True})
        if path in ("/server_info", "/get_server_info"):
            return Page.of({"version": self.chosen.version})
        return None

    def _health(self, front: Front, *, ask: bool) -> Page:
        if self.asked or not self._warm:
            return Page(503)
        if not ask:
            return Page(200)
        return Page(200 if self._generates(front) else 503)

    def _generates(self, front: Front) -> bool:
        """Ask for one token, and look once a second whether anything came."""
        name = f"HEALTH_CHECK_{secrets.token_hex(8)}"
        with suppress(RefusedError):
            words = front.submit(Asked(False, front.layout.served[0], "0", 1, False, False), name)
            deadline = time.monotonic() + behaviour.HEALTH_TIMEOUT * self.chosen.scale
            while time.monotonic() < deadline:
                time.sleep(behaviour.HEALTH_LOOK * self.chosen.scale)
                with suppress(queue.Empty):
                    words.get_nowait()
                    return True
            front.abort(name)
        return False

    def run(self) -> int:
        """Serve when all ranks have loaded; before that TERM ends the process as it ends any."""
        while not (self.ready or self.core_gone):
            self.wait()
        if not self.core_gone:
            signal.signal(signal.SIGTERM, self.on_term)
            self.serve()
            threading.Thread(target=self._warm_up, daemon=True).start()
        while not (self.core_gone or self.asked):
            self.wait()
        return self._end_asked() if self.asked and not self.core_gone else self._end_dead()

    def _warm_up(self) -> None:
        while not (self._generates(self.front) or self.asked):
            pass
        self._warm = True
        say("APIServer", "The server is fired up and ready to roll!")

    def _end_dead(self) -> int:
        say("APIServer", "SIGQUIT received. It usually means one child failed.", "ERROR")
        self.stop_core()
        os.kill(os.getpid(), signal.SIGKILL)
        return 1

    def _end_asked(self) -> int:
        say("APIServer", "SIGTERM received. Draining requests and shutting down...")
        while self.front.unfinished and not self.core_gone:
            time.sleep(behaviour.DRAIN_LOOK * self.chosen.scale)
        self.stop_core()
        self.close()
        return 0
