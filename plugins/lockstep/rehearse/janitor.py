"""Clean up after a rehearsal that could not: ``python -m lockstep.rehearse.janitor FOLDER``.

A rehearsal's launcher holds a lock on ``FOLDER/lock`` as long as it lives, and the kernel lets go of
it however the launcher dies. Whoever gets the lock cleans up: this process, which waits for it beside
every rehearsal, or the next rehearsal that starts, should both have been killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from lockstep.rehearse import processes

PREFIX = "rehearsal-"  # short: engines put sockets below it, whose paths have an end at 107 characters


def lock(folder: Path, *, wait: bool) -> int | None:
    """Return the file descriptor of the held lock; None when someone else holds it or there is none."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def hold(folder: Path) -> int:
    """Return the file descriptor of a new folder's lock, held.

    The file gets its name when it is: ``sweep`` of a rehearsal that starts at the same moment would take one that
    nobody holds for a leftover.
    """
    made = folder / "lock.new"
    descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    made.rename(folder / "lock")
    return descriptor


def clean(folder: Path) -> None:
    """End every process of a rehearsal and remove its folder. Its namespaces end with the processes."""
    deadline = time.monotonic() + 10
    while (left := processes.marked(str(folder))) and time.monotonic() < deadline:
        processes.send(left, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Clean up what earlier rehearsals of this user left, where nobody is alive to do it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_dir() and folder.stat().st_uid == os.getuid():
                held = lock(folder, wait=False)
                if held is not None:
                    clean(folder)
                    os.close(held)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if lock(Path(sys.argv[1]), wait=True) is not None:
        clean(Path(sys.argv[1]))
