"""Pods of one group as processes: the real supervisor, a stub of launch.sh, the fake engine.

A `Pod` imitates what kubelet and a container runtime do around the supervisor: a container ends as a
whole, and a new one starts only then. Addresses are 127.x.y.z, one per pod, so that the ports can be
the same in all of them.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.rehearse.processes import environment

from .links import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .links import Link

HERE = Path(__file__).parent
LAUNCH = HERE.parents[1] / "charts" / "serving" / "files" / "launch"
BOUND = 60.0  # seconds: how long a condition may take on a crowded machine

_networks = itertools.count(random.SystemRandom().randrange(1, 200 * 250))


def wait_for(condition: Callable[[], object], what: str, bound: float = BOUND) -> float:
    """Wait until a condition holds; return how long it took, in seconds.

    Raises
    ------
    AssertionError
        If it does not hold in time.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > bound:
            raise AssertionError(f"not within {bound:g} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - began


def processes(mark: str) -> Iterator[int]:
    """Yield the living processes of a container."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX" and environment(int(entry.name)).get("LOCKSTEP_CONTAINER") == mark:
                    yield int(entry.name)


class Pod:
    """One pod of a group: one container at a time."""

    def __init__(self, group: Group, rank: int, **environment: str) -> None:
        self.group = group
        self.rank = rank
        self.uid = uuid.uuid4().hex
        self.ip = group.new_address()
        self.name = f"pod-{rank}-{self.uid[:4]}"
        self.control = group.folder / self.name
        self.control.mkdir()
        self.log = group.folder / f"{self.name}.log"
        self.extra = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.containers = 0

    @property
    def environment(self) -> dict[str, str]:
        """The contract of this pod."""
        group = self.group
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LOCKSTEP", "FAKE"))},
            "LOCKSTEP_ENGINE": "fake",
            "LOCKSTEP_NODE_RANK": str(self.rank),
            "LOCKSTEP_NODE_COUNT": str(group.count),
            "LOCKSTEP_LEADER_ADDRESS": group.links[self.rank].address if self.rank in group.links else group.leader.ip,
            "LOCKSTEP_GROUP": f"tests/{group.name}",
            "LOCKSTEP_POD_IP": self.ip,
            "LOCKSTEP_POD_NAME": self.name,
            "LOCKSTEP_POD_UID": self.uid,
            "LOCKSTEP_BIND": self.ip,
            "LOCKSTEP_SERVED_NAME": "tiny",
            "LOCKSTEP_PORT": "8000",
            "LOCKSTEP_STATUS_PORT": "7070",
            "LOCKSTEP_MEMBERSHIP_PORT": "7071",
            "LOCKSTEP_MASTER_PORT": "29501",
            "LOCKSTEP_LAUNCH_DIR": str(group.mount),
            "LOCKSTEP_CONTAINER": self.mark,
            "FAKE_ENGINE": str(HERE / "fake_engine.py"),
            "FAKE_CONTROL": str(self.control),
            "FAKE_JOURNAL": str(group.journal),
            "FAKE_COPIES": str(group.copies),
            "TMPDIR": str(self.control),
            "PYTHONDONTWRITEBYTECODE": "1",
            **group.timers,
            **group.extra,
            **self.extra,
        }

    def start(self, *arguments: str) -> Pod:
        """Start a container."""
        self.run({}, "bash", str(self.group.mount / "launch.sh"), *(arguments or self.group.arguments))
        return self

    def run(self, more: dict[str, str], *command: str) -> None:
        """Run a command as process 1 of the next container."""
        self.containers += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env={**self.environment, **more}, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def mark(self) -> str:
        """What LOCKSTEP_CONTAINER is for everything in the container."""
        return f"{self.uid}-{self.containers}"

    def everything(self) -> list[int]:
        """Return the processes of the container."""
        return list(processes(self.mark))

    def engine(self) -> int | None:
        """Return the engine's process, if there is one."""
        for process in self.everything():
            with contextlib.suppress(OSError):
                if str(HERE / "fake_engine.py").encode() in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
                    return process
        return None

    def send(self, number: int) -> None:
        """Signal the supervisor."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def freeze(self, number: int = signal.SIGSTOP) -> None:
        """Stop, or continue, everything in the container."""
        for process in self.everything():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """End the container at once, as the end of its process 1 does."""
        while left := self.everything():
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        if self.process:
            self.process.wait(BOUND)

    def code(self, bound: float = BOUND) -> int:
        """Wait for the supervisor's end, and return its exit code; what it left behind ends too."""
        if self.process is None:
            raise AssertionError("not started")
        code = self.process.wait(bound)
        self.kill()
        return code

    def get(self, path: str, port: int = 7070, timeout: float = 5) -> tuple[int, str]:
        """Return status and text of a page of this pod; 0 when nobody answers."""
        connection = http.client.HTTPConnection(self.ip, port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def probe(self, name: str) -> bool:
        """Return what a probe says."""
        return self.get(f"/{name}")[0] == 200

    def metric(self, name: str, **labels: str) -> float | None:
        """Return the value of a metric."""
        inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
        labelled = re.escape(f"{name}{{{inner}}}" if inner else name)
        found = re.search(rf"^{labelled} (\S+)$", self.get("/metrics")[1], re.M)
        return float(found[1]) if found else None

    def state(self) -> str:
        """Return the state that the metrics show."""
        found = re.search(r'^lockstep_state{state="(\S+)"} 1$', self.get("/metrics")[1], re.M)
        return found[1] if found else ""

    def complete(self, timeout: float = 10) -> bool:
        """Return whether a completion comes back."""
        connection = http.client.HTTPConnection(self.ip, 8000, timeout=timeout)
        try:
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 1}))
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def text(self) -> str:
        """Return the container's log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tell(self, word: str) -> None:
        """Steer the fake engine."""
        (self.control / word).touch()

    def untell(self, word: str) -> None:
        """Take that back."""
        (self.control / word).unlink(missing_ok=True)


class Group:
    """A group of pods. Timers are short, but long enough for a busy machine."""

    make_pod = Pod

    def __init__(
        self,
        folder: Path,
        count: int = 2,
        *,
        heartbeat: float = 0.2,
        deadline: float = 2,
        python: str = sys.executable,
        **extra: str,
    ) -> None:
        self.folder = folder
        self.count = count
        self.name = uuid.uuid4().hex[:8]
        self.journal = folder / "journal"
        self.journal.touch()
        self.copies = folder / "copies"
        self.copies.mkdir()
        self.mount = folder / "mount"
        self.fill_mount()
        self.arguments = ("--max-model-len", "1024")
        self.network = next(_networks)
        self.hosts = itertools.count(1)
        self.timers = {
            "LOCKSTEP_HEARTBEAT_SECONDS": str(heartbeat),
            "LOCKSTEP_DEADLINE_SECONDS": str(deadline),
            "LOCKSTEP_STARTUP_SECONDS": "60",
            "LOCKSTEP_STABLE_SECONDS": "600",
            "LOCKSTEP_STALL_SECONDS": "30",
            "LOCKSTEP_DRAIN_SECONDS": "20",
            "LOCKSTEP_PROPAGATION_SECONDS": "0.3",
            "LOCKSTEP_MAX_RESTARTS": "5",
        }
        self.extra = {"PATH": f"{self.python_folder(python)}:{os.environ['PATH']}", **extra}
        self.pods: dict[int, Pod] = {}
        self.all: list[Pod] = []
        self.net: Network | None = None
        self.links: dict[int, Link] = {}
        for rank in range(count):
            self.add(rank)

    def python_folder(self, python: str) -> Path:
        """Return a folder in which python3 is the wanted one."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "python3").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
        (folder / "python3").chmod(0o755)
        return folder

    def fill_mount(self, change: str = "") -> None:
        """Write the launch files as the ConfigMap would hold them."""
        shutil.copytree(LAUNCH / "group", self.mount / "group", dirs_exist_ok=True)
        shutil.copy(LAUNCH / "supervisor.py", self.mount)
        (self.mount / "launch.sh").write_text((HERE / "launch_stub.sh").read_text() + change)

    def new_address(self) -> str:
        """Return an address of this machine that nobody has had."""
        return f"127.{self.network // 250 + 20}.{self.network % 250 + 1}.{next(self.hosts)}"

    def add(self, rank: int, **environment: str) -> Pod:
        """Make a pod, the successor of the one that holds the rank."""
        pod = self.make_pod(self, rank, **environment)
        self.all.append(pod)
        self.pods[rank] = pod
        return pod

    def linked(self) -> Group:
        """Put a link, which a test can break, between each worker and the leader."""
        net = self.net = Network()
        self.links = {rank: net.link(self.new_address(), lambda: self.leader.ip) for rank in range(1, self.count)}
        return self

    @property
    def leader(self) -> Pod:
        """Rank 0."""
        return self.pods[0]

    def start(self) -> Group:
        """Start all pods."""
        for pod in self.pods.values():
            pod.start()
        return self

    def serving(self) -> bool:
        """Return whether every pod is Ready and the group answers."""
        return all(pod.probe("ready") for pod in self.pods.values()) and self.leader.complete()

    def wait_serving(self, bound: float = BOUND) -> float:
        """Wait until it serves."""
        return wait_for(self.serving, "the group serves", bound)

    def violations(self) -> list[str]:
        """Return what the engines saw that must never be."""
        return [line for line in self.journal.read_text().splitlines() if "VIOLATION" in line]

    def starts(self, rank: int) -> list[str]:
        """Return the incarnations that a rank's engine was started for."""
        return re.findall(rf"rank={rank} incarnation=(\S+) start", self.journal.read_text())

    def close(self) -> None:
        """End everything."""
        for pod in self.all:
            pod.freeze(signal.SIGCONT)
            pod.kill()
        if self.net:
            self.net.close()
