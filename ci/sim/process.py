"""Start and end processes that outlive the one who started them, and know them again by number and start time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATIENCE = 8.0  # seconds between SIGTERM and SIGKILL
CHILDREN: list[subprocess.Popen[bytes]] = []  # of this Python, kept so that it takes note of their end


@dataclass(frozen=True)
class Running:
    """A process that was started: the number alone may belong to another by now."""

    name: str
    pid: int
    started: int  # clock ticks since boot, field 22 of /proc/PID/stat

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return started(self.pid) == self.started

    @property
    def cpu(self) -> float:
        """CPU seconds that it has used, and its children that have ended."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """MiB that it holds."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def start(name: str, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Running:
    """Start a process in a session of its own, so that Ctrl-C reaches only its parent; its output goes to a log."""
    with (folder / "logs" / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(environment),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    CHILDREN.append(process)
    return Running(name, process.pid, started(process.pid) or 0)


def stop(processes: Sequence[Running]) -> None:
    """End processes, the last started first: a server whose store has gone before it would wait for that in vain."""
    for process in reversed(processes):
        tell(process, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while process.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        tell(process, signal.SIGKILL)
        while process.alive:
            time.sleep(0.02)
    for child in [child for child in CHILDREN if started(child.pid) is None]:
        child.wait()
        CHILDREN.remove(child)


def tell(process: Running, number: signal.Signals) -> None:
    """Send a signal to a process that is still the one that was started."""
    if process.alive:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return  # it ended between the look and the signal


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    return None if fields[0] in "ZX" else int(fields[19])
