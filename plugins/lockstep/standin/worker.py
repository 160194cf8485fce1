"""One rank: joins the rendezvous, loads its part, then takes part in every step until it is killed."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from typing import TYPE_CHECKING, NoReturn

from lockstep.standin.log import say
from lockstep.standin.wire import ClosedError, Wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.standin.layout import Layout
    from lockstep.standin.settings import Settings


class Workers:
    """The worker processes of one node, children of the process that made them."""

    def __init__(self, layout: Layout, chosen: Settings, timeout: float, others: Sequence[socket.socket] = ()) -> None:
        self.pids: dict[int, int] = {}
        life, self._life = os.pipe()  # closes with this process: the children see its death
        self._loaded, loaded = os.pipe()  # a byte from each child that has its part of the model
        os.set_blocking(self._loaded, False)
        self._ready = 0
        for rank in layout.ranks:
            child = os.fork()
            if child == 0:
                os.close(self._life)
                os.close(self._loaded)
                for each in others:  # of the parent alone
                    each.close()
                run_worker(layout, chosen, rank, timeout, life, loaded)
            self.pids[child] = rank
        os.close(life)
        os.close(loaded)

    def ready(self) -> bool:
        """Return whether all ranks of this node have loaded."""
        with contextlib.suppress(BlockingIOError):
            self._ready += len(os.read(self._loaded, 1024))
        return self._ready >= len(self.pids)

    def lost(self) -> int | None:
        """Return the rank of a child that has ended, reaped; None when all live."""
        with contextlib.suppress(ChildProcessError):
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid:
                return self.pids.pop(pid, -1)
        return None

    def signal(self, number: int) -> None:
        """Send a signal to all that live."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self, patience: float) -> None:
        """TERM, wait up to ``patience`` seconds, KILL what is left."""
        self.signal(signal.SIGTERM)
        deadline = time.monotonic() + patience
        while self.pids and time.monotonic() < deadline:
            if self.lost() is None:
                time.sleep(0.02)
        self.signal(signal.SIGKILL)
        while self.pids and self.lost() is not None:
            pass


def run_worker(layout: Layout, chosen: Settings, rank: int, timeout: float, life: int, loaded: int) -> NoReturn:
    """Be this rank; never returns into the parent's code."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _work(layout, chosen, rank, timeout, life, loaded)
    except OSError as error:
        say(layout.name(rank), f"torch.distributed.DistNetworkError: {error}", "ERROR")
    finally:
        os._exit(1)


def _work(layout: Layout, chosen: Settings, rank: int, timeout: float, life: int, loaded: int) -> None:
    deadline = time.monotonic() + timeout
    wire = _connect(layout, deadline)
    wire.send({"rank": rank, "world": layout.world, "fingerprint": layout.fingerprint})
    with selectors.DefaultSelector() as waiting:
        waiting.register(wire, selectors.EVENT_READ)
        waiting.register(life, selectors.EVENT_READ)
        started = False
        while started or time.monotonic() < deadline:
            ready = [key.fileobj for key, _ in waiting.select(None if started else 1.0)]
            if life in ready:
                os._exit(0)  # the parent died: vLLM's workers watch a pipe, too
            if wire not in ready:
                continue
            try:
                for message in wire.receive():
                    if message.get("go"):
                        started = True
                        time.sleep(chosen.load_seconds)
                        wire.send({"loaded": rank})
                        os.write(loaded, b".")
                    elif message.get("end"):
                        os._exit(0)
                    elif "step" in message:
                        wire.send({"did": message["step"]})
            except ClosedError:
                _stay_for_ever(waiting, wire, life, chosen)
    raise TimeoutError(f"the client socket has timed out after {timeout:.0f} s while waiting for the other ranks")


def _connect(layout: Layout, deadline: float) -> Wire:
    while True:
        try:
            connection = socket.create_connection(layout.master, timeout=5)
        except OSError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"failed to connect to {layout.master[0]} port {layout.master[1]}: {error}"
                ) from None
            time.sleep(0.2)
            continue
        connection.settimeout(None)
        return Wire(connection)


def _stay_for_ever(waiting: selectors.BaseSelector, wire: Wire, life: int, chosen: Settings) -> NoReturn:
    """Outlive the leader: say nothing, hear no TERM, keep the socket in CLOSE-WAIT."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    waiting.unregister(wire)
    if waiting.select(chosen.orphan_seconds):
        os.close(life)
    os._exit(0)
