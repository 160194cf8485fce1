"""Child processes: every one of them is known, reaped, and ended when its time is over.

The supervisor is a child subreaper: whatever the engine forks, detaches or orphans stays a descendant
of the supervisor, and a walk through ``/proc`` finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - not for us, for the engine
SWEEP = 0.05  # seconds between two looks at a tree that is being killed


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, whether or not it is process 1.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _parents() -> Iterator[tuple[int, int, str]]:
    """Yield (process, parent, state) of every process that can be seen."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The command's name, in parentheses, may hold anything.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            except (OSError, ValueError):
                continue  # it ended meanwhile
            yield int(entry.name), int(parent), state


def descendants() -> list[int]:
    """Return every living process below this one; zombies are dead."""
    children: dict[int, list[int]] = {}
    alive = set()
    for process, parent, state in _parents():
        children.setdefault(parent, []).append(process)
        if state not in "ZX":
            alive.add(process)
    found, queue = [], list(children.get(os.getpid(), []))
    while queue:
        process = queue.pop()
        queue.extend(children.get(process, []))
        if process in alive:
            found.append(process)
    return found


def _signal(process: int, number: int) -> None:
    # It may have ended meanwhile, or not be ours to end: the caller looks again.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


class Children:
    """Starts processes and learns how each ended.

    ``attend`` must be called on SIGCHLD, and now and then in any case.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[int]] = {}

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], output: BinaryIO | None = None
    ) -> tuple[int, asyncio.Future[int]]:
        """Start a command in a session of its own; return its id, and its exit code to come (negative: a signal).

        Raises
        ------
        OSError
            If it cannot be run.
        """
        process = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
        )
        process.returncode = 0  # attend() reaps it, with all others
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.waiting[process.pid] = ended
        return process.pid, ended

    def attend(self) -> None:
        """Reap everything that has ended, orphans too."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            ended = self.waiting.pop(process, None)
            if ended and not ended.done():
                ended.set_result(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status))

    async def end(self, *, bound: float, gently: int | None = None, patience: float = 0) -> list[int]:
        """End every descendant; return those that did not vanish within ``bound`` seconds of the first KILL.

        ``gently`` names a process that gets TERM, and ``patience`` seconds to end the others and itself.
        """
        if gently is not None:
            _signal(gently, signal.SIGTERM)
            until = time.monotonic() + patience
            while time.monotonic() < until and gently in descendants():
                await asyncio.sleep(SWEEP)
                self.attend()
        until = time.monotonic() + bound
        while True:
            left = descendants()  # again and again: a dying tree may still fork
            for process in left:
                _signal(process, signal.SIGKILL)
            self.attend()
            if not left or time.monotonic() >= until:
                return left
            await asyncio.sleep(SWEEP)


def exit_text(code: int) -> str:
    """Return how a process ended, for people."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def process_text(process: int) -> str:
    """Return which process it is and what it does, for people; state D waits for a driver or a disk."""
    try:
        front, _, rest = (Path("/proc") / str(process) / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return f"{process} (gone now)"
    return f"{process} ({front.partition('(')[2]}, state {rest.split()[0]})"


class SharedMemory:
    """Remembers what was in ``/dev/shm`` before the engine, and removes what the engine leaves there.

    A killed engine leaves its segments and semaphores behind, a gigabyte after a handful of restarts.
    What a living process still maps or holds open is somebody else's and stays.

    Parameters
    ----------
    memory
        A file that lives as long as ``/dev/shm`` does: the pod. What a container that was killed has
        left there is no stranger's to the next one.
    folder
        Another folder in its place.
    """

    def __init__(self, memory: Path, folder: Path = SHARED_MEMORY) -> None:
        self.folder = folder
        try:
            self.before = set(memory.read_text().splitlines())
        except OSError:
            self.before = self._entries()
            memory.write_text("\n".join(self.before))

    def _entries(self) -> set[str]:
        try:
            return {entry.name for entry in self.folder.iterdir()}
        except OSError:
            return set()

    def sweep(self) -> list[str]:
        """Remove the leftovers and return their names."""
        left = sorted(self._entries() - self.before)
        used = self._in_use() if left else set()
        return [name for name in left if self._remove(self.folder / name, used)]

    def _remove(self, path: Path, used: set[int]) -> bool:
        try:
            found = path.lstat()
            if found.st_ino in used or found.st_uid != os.getuid() or not path.is_file():
                return False
            path.unlink()
        except OSError:
            return False  # somebody else was quicker
        return True

    def _in_use(self) -> set[int]:
        """Return the inodes in the folder that a living process maps or holds open.

        Not the names: a semaphore is mapped under the one that it had before it was whole.
        """
        mark, used = f"{self.folder}/", set()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to another user
                lines = (entry / "maps").read_text(errors="replace").splitlines()
                used |= {int(line.split()[4]) for line in lines if mark in line}
                for link in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):  # closed meanwhile
                        if str(link.readlink()).startswith(mark):
                            used.add(link.stat().st_ino)
        return used
