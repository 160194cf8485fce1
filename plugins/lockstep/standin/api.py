"""The process with HTTP in front of an engine core: starts it, hears it, opens and closes the listener."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

from lockstep.standin.control import Control
from lockstep.standin.core import run_core
from lockstep.standin.log import say
from lockstep.standin.server import Front, Server
from lockstep.standin.wire import ClosedError, Wire
from lockstep.standin.worker import Workers

if TYPE_CHECKING:
    from lockstep.standin.core import Limits, Start
    from lockstep.standin.layout import Layout
    from lockstep.standin.metrics import Metrics
    from lockstep.standin.server import Pages
    from lockstep.standin.settings import Settings

KILLED_BY_TERM = 128 + signal.SIGTERM


def bind(host: str, port: int) -> Server | None:
    """Bind the HTTP port, or say why not."""
    try:
        return Server(host, port)
    except OSError as error:
        say("APIServer", f"OSError: {error} ({host} port {port})", "ERROR")
        return None


class Api:
    """What the engines' API processes have in common."""

    def __init__(
        self,
        layout: Layout,
        chosen: Settings,
        limits: Limits,
        server: Server,
        metrics: Metrics,
        pages: Pages,
        keys: tuple[str, ...] = (),
        start: Start = Workers,
    ) -> None:
        self.chosen, self.server = chosen, server
        self.wake = threading.Event()
        self.asked = self.ready = self.core_gone = False
        self._control = Control(chosen.control)
        ours, theirs = socket.socketpair()
        self._core_pid = self._start_core(layout, limits, start, theirs, ours)
        wire = Wire(ours)
        self.front = Front(wire, metrics, layout, pages, keys)
        threading.Thread(target=self._hear_core, args=(wire,), daemon=True).start()

    def _start_core(
        self, layout: Layout, limits: Limits, start: Start, theirs: socket.socket, ours: socket.socket
    ) -> int:
        pid = os.fork()
        if pid == 0:
            ours.close()
            self.server.socket.close()
            run_core(layout, self.chosen, limits, Wire(theirs), start)
        theirs.close()
        return pid

    def _hear_core(self, wire: Wire) -> None:
        try:
            while True:
                for message in wire.receive():
                    if message.get("ready"):
                        self.ready = True
                        self.wake.set()
                    else:
                        self.front.step(message)
        except ClosedError:
            self.core_gone = True
            self.wake.set()

    def pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the core or of the start."""
        deadline = time.monotonic() + seconds
        while not (self.core_gone or self.ready) and time.monotonic() < deadline:
            time.sleep(0.02)

    def wait(self) -> None:
        """Wait for something to change, and look at what a test wants."""
        self.wake.wait(0.1 if self._control.watching else 1.0)
        self.wake.clear()
        self._control.obey()

    def on_term(self, *_: object) -> None:
        """Remember that the end was asked for."""
        self.asked = True
        self.wake.set()

    def serve(self) -> None:
        """Open the listener."""
        self.server.open(self.front)
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        say("APIServer", "Application startup complete.")

    def close(self) -> None:
        """Close the listener: new connections are refused."""
        self.server.shutdown()
        self.server.server_close()

    def stop_core(self) -> None:
        """End the core, and with it the ranks of this node; open requests get no further token."""
        self.front.cut = True
        try:
            os.kill(self._core_pid, signal.SIGTERM)
            os.waitpid(self._core_pid, 0)
        except (ProcessLookupError, ChildProcessError):
            return
