"""One life of a container: its process 1, its log, and whatever it left running."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from lockstep.rehearse import processes
from lockstep.rehearse.waiting import happens

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockstep.rehearse.network import Place

OWN_WORDS = "lockstep: "  # with which each line of the launch scripts and the supervisor begins


class Container:
    """Made by ``start``.

    Attributes
    ----------
    first : int
        Its process 1, by the number that it has here.
    ended : asyncio.Event
        Set when it and everything in it has ended.
    """

    def __init__(self, process: asyncio.subprocess.Process, place: Place, folder: Path, env: dict[str, str]) -> None:
        self.first = process.pid
        self.ended = asyncio.Event()
        self._process, self._place, self._folder, self._env = process, place, folder, env
        self._log_at = 0
        self._following: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, place: Place, argv: list[str], environment: dict[str, str], folder: Path, tell: Callable[[str], None]
    ) -> Container:
        """Start process 1; ``tell`` gets each of Lockstep's own lines in its log."""
        folder.mkdir(parents=True)
        env = environment | {processes.MARK: str(folder)}
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *place.start(argv, folder),
                env=env,
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        container = cls(process, place, folder, env)
        await container._find_first()
        container._following = asyncio.create_task(container._follow(tell))
        return container

    async def _find_first(self) -> None:
        while self._process.returncode is None:
            first = self._place.first_process(self._process.pid)
            if first is not None:
                self.first = first
                return
            await asyncio.sleep(0.005)

    async def wait(self) -> int:
        """Wait for process 1; end what it left behind, as the end of its pid namespace would."""
        code = await self._process.wait()
        while left := processes.marked(str(self._folder)):
            processes.send(left, signal.SIGKILL)
            await asyncio.sleep(0.02)
        self.ended.set()
        if self._following is not None:
            await self._following
        return code

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to process 1."""
        if not self.ended.is_set():
            processes.send({self.first}, number)

    def kill(self) -> None:
        """End all of it at once."""
        processes.send({self.first} | self.processes(), signal.SIGKILL)

    def processes(self) -> set[int]:
        """Return all its processes."""
        if self.ended.is_set():
            return set()
        return processes.below({self.first}) | (processes.marked(str(self._folder)) - {self._process.pid})

    def engine(self) -> set[int]:
        """Return what runs below the supervisor, ssh servers and parts of Ray too; without one that is everything."""
        supervised = self._env.get("LOCKSTEP_SUPERVISOR") == "true"
        return self.processes() - ({self.first} if supervised else set())

    async def execute(self, command: list[str]) -> int:
        """Run a command in the container, as ``exec`` probes and hooks do; return its exit code."""
        process = await asyncio.create_subprocess_exec(
            *self._place.inside(self.first, command),
            env=self._env,
            cwd=self._folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            return await process.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()  # else its transport outlives the loop
            raise

    async def _follow(self, tell: Callable[[str], None]) -> None:
        """Hand on Lockstep's own lines until the container has ended."""
        while True:
            last = self.ended.is_set()
            with (self._folder / "log").open("rb") as log:
                log.seek(self._log_at)
                text = log.read()
            *lines, rest = text.split(b"\n")
            self._log_at += len(text) - len(rest)
            for line in lines:
                if line.startswith(OWN_WORDS.encode()):
                    tell(line.decode(errors="replace").removeprefix(OWN_WORDS))
            if last:
                return
            await happens(self.ended, 0.2)
