"""Containers of a group as processes: each adopts what its programs leave behind, and is removed whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Pod

# PR_SET_CHILD_SUBREAPER: orphans become children of this process, as of process 1 in a container.
ADOPT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1); os.execvp(sys.argv[1], sys.argv[1:])"


def parent_of(stat: Path) -> int:
    """Return the parent named in a /proc/PID/stat; 0 when the process is gone."""
    with contextlib.suppress(OSError):
        return int(stat.read_text().rsplit(")", 1)[1].split()[1])
    return 0


class Container:
    """The container of one rank.

    Parameters
    ----------
    pod
        What all ranks have in common.
    rank
        Rank of this node.
    network
        First three numbers of the addresses; rank 0 has 2 for the fourth, rank 1 has 3, and so on.
    inside
        Beginning of a command that enters the node's network.
    """

    def __init__(self, pod: Pod, rank: int, network: str = "127.0.0", inside: tuple[str, ...] = ()) -> None:
        environment = {
            **pod.environment,
            "LOCKSTEP_NODE_RANK": str(rank),
            "LOCKSTEP_POD_IP": f"{network}.{rank + 2}",
        }
        self.address, self.inside = environment["LOCKSTEP_POD_IP"], inside
        self.log = pod.stubs / f"node-{rank}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*inside, sys.executable, "-c", ADOPT, *pod.command(*pod.arguments)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def says(self, text: str, times: int = 1, limit: float = 90) -> bool:
        """Whether the log holds a text so many times within a number of seconds."""
        end = time.monotonic() + limit
        while self.log.read_text().count(text) < times:
            if time.monotonic() > end or self.process.poll() is not None:
                return self.log.read_text().count(text) >= times
            time.sleep(0.2)
        return True

    def run(self, *command: str) -> int:
        """Run a command in the node's network; return its exit code."""
        return subprocess.run([*self.inside, *command], capture_output=True, check=False).returncode

    @staticmethod
    def comm(pid: int) -> str:
        """Return the name of a process; empty when it is gone."""
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text().strip()
        return ""

    def family(self) -> list[int]:
        """Return the processes of this container."""
        parents = {int(entry.parent.name): parent_of(entry) for entry in Path("/proc").glob("[0-9]*/stat")}
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def kill(self, name: str) -> None:
        """Kill the container's processes of this name, as an accident would."""
        for pid in self.family():
            if self.comm(pid) == name:
                os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Remove the container as its runtime would."""
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
