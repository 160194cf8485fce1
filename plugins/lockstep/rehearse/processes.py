"""Find and signal the processes of a container or of a whole rehearsal, wherever they went."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

_IMAGE = (20, 23, 47, 48)  # vsize, startcode, env_start, env_end: fields of proc_pid_stat(5), from the state on
_EXEC = 1.0  # seconds that an exec may take
MARK = "LOCKSTEP_REHEARSAL"  # in the environment of every process: <rehearsal>/<pod>/<life of the container>


def environment(pid: int) -> dict[str, str]:
    """Return the variables that a process was started with.

    While a process executes another program it has none for a moment, and a read that begins before may end short:
    whoever took that for all would overlook it. So it is read until nothing has changed meanwhile, the code is in
    place, which comes after the variables, and their bytes are as many as the kernel says.

    Raises
    ------
    OSError
        If the process has ended, or is somebody else's.
    """
    until = time.monotonic() + _EXEC
    while True:
        size, *before = _image(pid)
        text = Path("/proc", str(pid), "environ").read_bytes()
        code, start, end = before
        whole = code != 0 and len(text) == end - start and before == _image(pid)[1:]
        if whole or size == 0 or time.monotonic() > until:  # without any memory it is a zombie, or the kernel's own
            # bash puts a zero in place of the = of a variable while it takes it over.
            return dict(re.findall(r"([^=\0]+)[=\0]([^\0]*)", os.fsdecode(text)))
        time.sleep(0.001)


def _image(pid: int) -> list[int]:
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return [int(fields[index]) for index in _IMAGE]


def marked(prefix: str) -> set[int]:
    """Return the processes whose mark is ``prefix`` or below it."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if f"{environment(int(entry.name)).get(MARK)}/".startswith(f"{prefix}/"):
                found.add(int(entry.name))
    return found


def parents() -> dict[int, int]:
    """Return the parent of every living process (zombies are dead)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def below(roots: set[int]) -> set[int]:
    """Return the processes and all that descend from them."""
    family = parents()
    found = {pid for pid in roots if pid in family}
    grown = True
    while grown:
        more = {pid for pid, parent in family.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found


def leaves(pids: set[int]) -> set[int]:
    """Return those that have no child among them."""
    family = parents()
    return pids - {family[pid] for pid in pids if pid in family}


def send(pids: set[int], number: signal.Signals) -> None:
    """Send a signal to each that still lives, the oldest first: a parent must not see its child die of it."""
    for pid in sorted(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
