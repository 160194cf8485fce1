"""``vllm serve`` on rank 0: binds, starts the engine core, serves, and stops as the real one does."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from lockstep.standin.api import KILLED_BY_TERM, Api, bind
from lockstep.standin.core import Limits
from lockstep.standin.log import say
from lockstep.standin.vllm import behaviour
from lockstep.standin.vllm.metrics import VllmMetrics
from lockstep.standin.vllm.pages import pages_of
from lockstep.standin.vllm.ray_ranks import RayRanks
from lockstep.standin.worker import Workers

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.layout import Layout
    from lockstep.standin.server import Server
    from lockstep.standin.settings import Settings


def run_leader(arguments: argparse.Namespace, layout: Layout, chosen: Settings) -> int:
    """Serve until the end; return the exit code."""
    server = bind(arguments.host or "0.0.0.0", arguments.port or 8000)  # noqa: S104 - the engine's default
    return 1 if server is None else Leader(arguments, layout, chosen, server).run()


class Leader(Api):
    """The API process."""

    def __init__(self, arguments: argparse.Namespace, layout: Layout, chosen: Settings, server: Server) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # TERM is lost while processes start
        self._patience = float(getattr(arguments, "shutdown_timeout", None) or 0)
        keys = tuple(arguments.api_key or ()) or tuple(filter(None, [os.environ.get("VLLM_API_KEY")]))
        limits = Limits(
            float(getattr(arguments, "distributed_timeout_seconds", None) or behaviour.RENDEZVOUS_TIMEOUT),
            float(os.environ.get("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS") or behaviour.STEP_TIMEOUT),
            arguments.max_num_seqs or 256,
            outlives_api=True,
        )
        start = RayRanks if arguments.distributed_executor_backend == "ray" else Workers
        metrics = VllmMetrics(layout.served[0], chosen.cache_tokens)
        say("EngineCore", "OpenMP thread binding info: none is bound")  # just before its workers
        super().__init__(layout, chosen, limits, server, metrics, pages_of(chosen.version), keys, start)

    def run(self) -> int:
        """Wait for the engine, then for TERM or the engine's end."""
        self.pause(behaviour.TERM_LOST * self.chosen.scale)
        signal.signal(signal.SIGTERM, self.on_term)
        while not (self.ready or self.core_gone or self.asked):
            self.wait()
        if self.ready and not self.core_gone:
            self.serve()
            while not (self.core_gone or self.asked):
                self.wait()
        if self.core_gone:
            return self._end_dead()
        return self._end_asked()

    def _end_dead(self) -> int:
        scale = self.chosen.scale
        self.stop_core()
        if not self.ready:
            say("APIServer", "RuntimeError: Engine core initialization failed. See root cause above.", "ERROR")
            return 1
        say("APIServer", "EngineDeadError: EngineCore encountered an issue.", "ERROR")
        self.front.die()
        time.sleep(behaviour.DEAD_HEALTH * scale)
        self.close()
        time.sleep(behaviour.DEAD_EXIT * scale)
        return 0  # also seen in public: vllm#48966

    def _end_asked(self) -> int:
        if not self.ready:
            self.stop_core()
            return KILLED_BY_TERM
        say("APIServer", f"Shutting down (shutdown timeout {self._patience:.0f} s)")
        drained = False
        if self._patience > 0 and self.front.unfinished:
            self.front.draining = True
            deadline = time.monotonic() + self._patience
            while self.front.unfinished and time.monotonic() < deadline and not self.core_gone:
                time.sleep(0.05)
            drained = not self.front.unfinished
        self.stop_core()
        self.close()
        if self.front.connections:
            say("APIServer", "Waiting for connections to close. (CTRL+C to force quit)")
        while self.front.connections:
            time.sleep(0.05)
        time.sleep((behaviour.DRAINED_EXIT if drained else behaviour.IDLE_STOP) * self.chosen.scale)
        return 0
