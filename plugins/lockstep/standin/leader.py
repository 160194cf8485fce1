"""``vllm serve`` on rank 0: binds, starts the engine core, serves, and stops as the real one does."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

from lockstep.standin import behaviour
from lockstep.standin.control import Control
from lockstep.standin.core import Limits, run_core
from lockstep.standin.log import say
from lockstep.standin.metrics import Metrics
from lockstep.standin.server import Front, Server
from lockstep.standin.wire import ClosedError, Wire

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.config import Layout
    from lockstep.standin.settings import Settings

KILLED_BY_TERM = 128 + signal.SIGTERM


def run_leader(arguments: argparse.Namespace, layout: Layout, chosen: Settings) -> int:
    """Serve until the end; return the exit code."""
    if layout.node_rank > 0:
        say("APIServer", "AssertionError: collective_rpc should not be called on follower node", "ERROR")
        return 1
    host, port = arguments.host or "0.0.0.0", arguments.port or 8000  # noqa: S104 - the engine's default
    try:
        server = Server(host, port)
    except OSError as error:
        say("APIServer", f"OSError: {error} ({host} port {port})", "ERROR")
        return 1
    return Leader(arguments, layout, chosen, server).run()


class Leader:
    """The API process."""

    def __init__(self, arguments: argparse.Namespace, layout: Layout, chosen: Settings, server: Server) -> None:
        self._chosen, self._server = chosen, server
        self._patience = float(getattr(arguments, "shutdown_timeout", None) or 0)
        self._wake = threading.Event()
        self._asked = self._ready = self._core_gone = False
        ours, theirs = socket.socketpair()
        self._core_pid = self._start_core(arguments, layout, theirs, ours)
        self._wire = Wire(ours)
        keys = tuple(arguments.api_key or ()) or tuple(filter(None, [os.environ.get("VLLM_API_KEY")]))
        metrics = Metrics(layout.served[0], chosen.cache_tokens)
        self._front = Front(self._wire, metrics, layout, chosen.version, keys)

    def _start_core(
        self, arguments: argparse.Namespace, layout: Layout, theirs: socket.socket, ours: socket.socket
    ) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # TERM is lost while processes start
        limits = Limits(
            float(getattr(arguments, "distributed_timeout_seconds", None) or behaviour.RENDEZVOUS_TIMEOUT),
            float(os.environ.get("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS") or behaviour.STEP_TIMEOUT),
            arguments.max_num_seqs or 256,
        )
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._server.socket.close()
            run_core(layout, self._chosen, limits, Wire(theirs))
        theirs.close()
        return pid

    def run(self) -> int:
        """Wait for the engine, then for TERM or the engine's end."""
        threading.Thread(target=self._hear_core, daemon=True).start()
        self._pause(behaviour.TERM_LOST * self._chosen.scale)
        signal.signal(signal.SIGTERM, self._on_term)
        control = Control(self._chosen.control)
        while not (self._ready or self._core_gone or self._asked):
            self._wait(control)
        if self._ready and not self._core_gone:
            self._serve()
            while not (self._core_gone or self._asked):
                self._wait(control)
        if self._core_gone:
            return self._end_dead()
        return self._end_asked()

    def _pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the core."""
        deadline = time.monotonic() + seconds
        while not (self._core_gone or self._ready) and time.monotonic() < deadline:
            time.sleep(0.02)

    def _wait(self, control: Control) -> None:
        self._wake.wait(0.1 if control.watching else 1.0)
        self._wake.clear()
        control.obey()

    def _on_term(self, *_: object) -> None:
        self._asked = True
        self._wake.set()

    def _hear_core(self) -> None:
        try:
            while True:
                for message in self._wire.receive():
                    if message.get("ready"):
                        self._ready = True
                        self._wake.set()
                    else:
                        self._front.step(message)
        except ClosedError:
            self._core_gone = True
            self._wake.set()

    def _serve(self) -> None:
        self._server.open(self._front)
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()
        say("APIServer", "Application startup complete.")

    def _close(self) -> None:
        """Close the listener: new connections are refused."""
        self._server.shutdown()
        self._server.server_close()

    def _stop_core(self) -> None:
        self._front.cut = True
        try:
            os.kill(self._core_pid, signal.SIGTERM)
            os.waitpid(self._core_pid, 0)
        except (ProcessLookupError, ChildProcessError):
            return

    def _end_dead(self) -> int:
        scale = self._chosen.scale
        self._stop_core()
        if not self._ready:
            say("APIServer", "RuntimeError: Engine core initialization failed. See root cause above.", "ERROR")
            return 1
        say("APIServer", "EngineDeadError: EngineCore encountered an issue.", "ERROR")
        self._front.die()
        time.sleep(behaviour.DEAD_HEALTH * scale)
        self._close()
        time.sleep(behaviour.DEAD_EXIT * scale)
        return 0  # also seen in public: vllm#48966

    def _end_asked(self) -> int:
        if not self._ready:
            self._stop_core()
            return KILLED_BY_TERM
        say("APIServer", f"Shutting down (shutdown timeout {self._patience:.0f} s)")
        drained = False
        if self._patience > 0 and self._front.unfinished:
            self._front.draining = True
            deadline = time.monotonic() + self._patience
            while self._front.unfinished and time.monotonic() < deadline and not self._core_gone:
                time.sleep(0.05)
            drained = not self._front.unfinished
        self._stop_core()
        self._close()
        if self._front.connections:
            say("APIServer", "Waiting for connections to close. (CTRL+C to force quit)")
        while self._front.connections:
            time.sleep(0.05)
        time.sleep((behaviour.DRAINED_EXIT if drained else behaviour.IDLE_STOP) * self._chosen.scale)
        return 0
