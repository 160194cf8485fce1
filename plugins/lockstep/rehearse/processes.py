"""Find and signal the processes of a container or of a whole rehearsal, wherever they went."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

MARK = "LOCKSTEP_REHEARSAL"  # in the environment of every process: <rehearsal>/<pod>/<life of the container>


def environment(pid: int) -> list[bytes]:
    """Return the variables that a process was started with, each as ``NAME=value``.

    While a process executes another program it has none for a moment, and no auxiliary vector either (its
    bytes are zeros then): whoever took it for a process without variables would overlook it.

    Raises
    ------
    OSError
        If the process has ended, or is somebody else's.
    """
    folder = Path("/proc", str(pid))
    until = time.monotonic() + 5
    while not (variables := (folder / "environ").read_bytes()):
        if any((folder / "auxv").read_bytes()):  # it has none, or has them by now
            variables = (folder / "environ").read_bytes()
            break
        if time.monotonic() > until:
            break
        time.sleep(0.001)
    return variables.split(b"\0")


def marked(prefix: str) -> set[int]:
    """Return the processes whose mark is ``prefix`` or below it."""
    wanted = f"{MARK}={prefix}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            for variable in environment(int(entry.name)):
                if variable == wanted or variable.startswith(wanted + b"/"):
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
