"""The engine core: gathers the ranks, then makes one token per step with all of them or not at all."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Protocol

from lockstep.standin import text
from lockstep.standin.log import say
from lockstep.standin.wire import ClosedError, Message, Wire
from lockstep.standin.worker import Workers

if TYPE_CHECKING:
    from lockstep.standin.layout import Layout
    from lockstep.standin.settings import Settings


@dataclass
class Request:
    """A prompt on its way: tokens wanted, tokens made, when its first may come."""

    name: str
    prompt: str
    length: int
    wanted: int
    made: int = 0
    first_at: float = 0.0


class Ranks(Protocol):
    """The ranks that this process started."""

    def lost(self) -> int | None:
        """Return one that has ended; None when all live."""

    def stop(self, patience: float) -> None:
        """End them all."""


Start = Callable[["Layout", "Settings", float, Sequence[socket.socket]], Ranks]


class EngineDeadError(RuntimeError):
    """The core cannot go on; the text is its last log line."""


@dataclass(frozen=True)
class Limits:
    """What flags and the environment say about this core, and what its engine is like.

    Attributes
    ----------
    outlives_api : bool
        It stays when the API process was killed.
    dismisses : bool
        Told to end, it tells the ranks of all nodes to end.
    """

    rendezvous_timeout: float
    step_timeout: float
    running: int
    outlives_api: bool = False
    dismisses: bool = False


class Core:
    """One process; everything happens in ``turn``, by one selector."""

    def __init__(self, layout: Layout, chosen: Settings, limits: Limits, front: Wire, start: Start) -> None:
        self._layout, self._chosen, self._limits, self._front = layout, chosen, limits, front
        self._waiting = selectors.DefaultSelector()
        self._listener = _listen(layout)
        here = replace(layout, master=self._listener.getsockname()[:2])
        self._workers = start(here, chosen, limits.rendezvous_timeout, (front.connection, self._listener))
        self._ranks: dict[int, Wire] = {}
        self._gone: set[int] = set()
        self._loaded: set[int] = set()
        self._strange = False
        self._gathered = False
        self._deadline = time.monotonic() + limits.rendezvous_timeout
        self._queue: list[Request] = []
        self._running: list[Request] = []
        self._step = 0
        self._missing: set[int] | None = None
        self._step_began = 0.0
        self._told = False
        self._waiting.register(self._listener, selectors.EVENT_READ, self._accept)
        self._waiting.register(front, selectors.EVENT_READ, self._hear_front)

    def dismiss(self) -> None:
        """Tell the ranks of all nodes to end, where the engine does so."""
        if self._limits.dismisses:
            for rank in self._ranks:
                if rank not in self._gone:
                    self._tell(rank, {"end": True})

    def stop(self) -> None:
        """End the workers of this node."""
        self._workers.stop(0.2)

    def turn(self) -> None:
        """Wait for something and do it.

        Raises
        ------
        EngineDeadError
            When a local worker ended, the rendezvous or a step took too long.
        ClosedError
            When the API process is gone.
        """
        for key, _ in self._waiting.select(self._patience()):
            key.data(key.fileobj)
        lost = self._workers.lost()
        if lost is not None:
            raise EngineDeadError(f"{self._layout.name(lost)} proc died unexpectedly, shutting down executor.")
        now = time.monotonic()
        if not self._gathered and now > self._deadline:
            raise EngineDeadError(f"{len(self._ranks)} of {self._layout.world} ranks came to the rendezvous in time")
        if self._missing is None:
            if now >= self._step_began + 1 / self._chosen.tokens_per_second:
                self._begin_step(now)
        elif now > self._step_began + self._limits.step_timeout:
            raise EngineDeadError("TimeoutError: RPC call to sample_tokens timed out.")

    def _patience(self) -> float:
        if self._missing is None and (self._queue or self._running):
            return max(0.0, self._step_began + 1 / self._chosen.tokens_per_second - time.monotonic())
        return 0.25

    # The rendezvous.

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            # A message that is no hello (a probe's connect and close) leaves no trace.
            self._waiting.register(Wire(connection), selectors.EVENT_READ, self._hear_stranger)

    def _hear_stranger(self, wire: Wire) -> None:
        try:
            messages = wire.receive()
        except ClosedError:
            self._drop(wire)
            return
        for message in messages:
            rank = message.get("rank")
            if self._gathered or not isinstance(rank, int) or rank in self._ranks:
                continue  # too late or twice: it waits, as for the real store, without a word
            self._strange |= message.get("fingerprint") != self._layout.fingerprint
            self._strange |= message.get("world") != self._layout.world
            self._ranks[rank] = wire
            self._waiting.modify(wire, selectors.EVENT_READ, lambda _, rank=rank: self._hear_rank(rank))
        if not self._gathered and len(self._ranks) == self._layout.world and not self._strange:
            self._gathered = True
            say("EngineCore", f"all {self._layout.world} ranks are here, loading the model")
            for rank in self._ranks:
                self._tell(rank, {"go": True})

    def _drop(self, wire: Wire) -> None:
        self._waiting.unregister(wire)
        wire.connection.close()

    # The ranks.

    def _tell(self, rank: int, message: Message) -> None:
        try:
            self._ranks[rank].send(message)
        except ClosedError:
            self._lose(rank)

    def _lose(self, rank: int) -> None:
        if not self._gathered:
            self._drop(self._ranks.pop(rank))
        elif rank not in self._gone:
            self._gone.add(rank)
            self._waiting.unregister(self._ranks[rank])

    def _hear_rank(self, rank: int) -> None:
        try:
            messages = self._ranks[rank].receive()
        except ClosedError:
            self._lose(rank)
            return
        for message in messages:
            if "loaded" in message:
                self._loaded.add(rank)
                if len(self._loaded) == self._layout.world:
                    self._front.send({"ready": True})
            elif message.get("did") == self._step and self._missing is not None:
                self._missing.discard(rank)
                if not self._missing:
                    self._finish_step()

    # The steps.

    def _hear_front(self, front: Wire) -> None:
        for message in front.receive():
            if "add" in message:
                length = int(str(message["length"]))
                self._queue.append(
                    Request(str(message["add"]), str(message["prompt"]), length, int(str(message["wanted"])))
                )
            elif "abort" in message:
                for line in (self._queue, self._running):
                    line[:] = [request for request in line if request.name != message["abort"]]

    def _begin_step(self, now: float) -> None:
        while self._queue and len(self._running) < self._limits.running:
            request = self._queue.pop(0)
            request.first_at = now + request.length / self._chosen.prefill_tokens_per_second
            self._running.append(request)
        if not self._running:
            return
        self._step += 1
        self._step_began = now
        self._missing = set(self._ranks)
        for rank in self._ranks:
            if rank not in self._gone:
                self._tell(rank, {"step": self._step})
        if self._gone and not self._told:
            self._told = True
            reason = "Connection reset by peer"
            say(self._layout.name(0), f"RuntimeError: [gloo/transport/tcp/pair.cc] {reason}", "ERROR")

    def _finish_step(self) -> None:
        self._missing = None
        now = time.monotonic()
        tokens, finished, read = {}, [], 0
        for request in self._running:
            if now < request.first_at:
                continue
            read += request.length if request.made == 0 else 0
            tokens[request.name] = text.token(self._chosen.seed, request.prompt, request.made)
            request.made += 1
            if request.made >= request.wanted:
                finished.append(request.name)
        self._running = [request for request in self._running if request.name not in finished]
        held = sum(request.length + request.made for request in self._running)
        self._front.send(
            {
                "tokens": tokens,
                "finished": finished,
                "read": read,
                "running": len(self._running),
                "waiting": len(self._queue),
                "held": held,
            }
        )


def _listen(layout: Layout) -> socket.socket:
    """Open the master port; where no other node has to find it, any port will do."""
    host, port = ("127.0.0.1", 0) if layout.alone else layout.master
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=256)
    listener.setblocking(False)
    return listener


def run_core(layout: Layout, chosen: Settings, limits: Limits, front: Wire, start: Start = Workers) -> NoReturn:
    """Be the engine core; never returns into the API process's code."""
    core = None
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

        def end(*_: object) -> None:
            if core is not None:
                core.dismiss()
            _end(core)
            os._exit(0)

        signal.signal(signal.SIGTERM, end)
        core = Core(layout, chosen, limits, front, start)
        while True:
            core.turn()
    except EngineDeadError as fault:
        say("EngineCore", f"EngineCore encountered a fatal error. {fault}", "ERROR")
    except ClosedError:
        if limits.outlives_api:
            time.sleep(chosen.orphan_seconds)  # it keeps its devices (vllm#55510)
    except OSError as error:
        say("EngineCore", f"EngineCore failed to start. {error} (master {layout.master})", "ERROR")
    finally:
        _end(core)
        os._exit(1)


def _end(core: Core | None) -> None:
    if core is not None:
        core.stop()
