"""The same faults under torch's elastic agent and under the supervisor, in one run.

    python benchmarks/elastic.py TORCHRUN

TORCHRUN is the ``torchrun`` of a venv with torch, such as the one that ``make engine-cpu`` installs. Two
containers on loopback addresses run the fake engine of the supervisor's tests, once below
``torchrun --no-python --nnodes 2 --max-restarts 100`` (rendezvous c10d, all timers its own), once below the
supervisor with the chart's timers. A container that ends is started again at once. Prints a Markdown table.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.supervisor.pods import HERE, Group, Pod, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

BOUND = 60.0  # seconds after which a fault counts as not seen
FROZEN = 30.0  # seconds
ENGINE = f"export LOCKSTEP_INCARNATION=$TORCHELASTIC_RESTART_COUNT; exec python3 -S {HERE / 'fake_engine.py'}"


class AgentPod(Pod):
    """A container whose first process is torch's agent."""

    torchrun = ""

    def start(self, *_: str) -> AgentPod:
        """Start a container."""
        where = f"{self.group.leader.ip}:29400"
        command = [
            self.torchrun,
            "--no-python",
            "--nnodes",
            "2",
            "--nproc-per-node",
            "1",
            "--node-rank",
            str(self.rank),
        ]
        command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", where, "--rdzv-id", "g", "--local-addr", self.ip]
        command += ["--max-restarts", "100", "bash", "-c", ENGINE]
        self.run({"FAKE_LEADER": self.group.leader.ip}, *command)
        return self


class Agents(Group):
    """A group of them."""

    make_pod = AgentPod


def kill_engine(group: Group, rank: int) -> None:
    """Kill an engine."""
    engine = group.pods[rank].engine()
    if engine:
        os.kill(engine, signal.SIGKILL)


def kill_container(group: Group, rank: int) -> None:
    """Kill a container; the next one starts."""
    group.pods[rank].kill()


def freeze(group: Group, rank: int) -> None:
    """Freeze a container."""
    group.pods[rank].freeze()


def hang(group: Group, rank: int) -> None:
    """Let the engine hang, its health page say 200."""
    group.pods[rank].tell("hang")


FAULTS: dict[str, tuple[Callable[[Group, int], None], int]] = {
    "engine of the worker killed": (kill_engine, 1),
    "engine of the leader killed": (kill_engine, 0),
    "container of the worker killed": (kill_container, 1),
    "container of the leader killed": (kill_container, 0),
    f"worker frozen for {FROZEN:g} s": (freeze, 1),
    "engine hangs, health 200": (hang, 0),
}


def tend(group: Group) -> None:
    """Start what has ended."""
    for pod in group.pods.values():
        if pod.process and pod.process.poll() is not None:
            pod.kill()
            pod.start()


def measure(group: Group, name: str) -> str:
    """Return seconds to notice and to serving again after a fault."""
    fault, rank = FAULTS[name]
    other = group.pods[0 if fault is hang else 1 - rank]
    old = other.engine()
    began = time.monotonic()
    fault(group, rank)

    def noticed() -> bool:
        tend(group)
        return other.engine() != old

    try:
        seen = f"{wait_for(noticed, name, FROZEN if fault is freeze else BOUND):.1f}"
    except AssertionError:
        seen = "not seen"
    if fault is freeze:
        time.sleep(max(0.0, began + FROZEN - time.monotonic()))
    group.pods[rank].untell("hang")
    group.pods[rank].freeze(signal.SIGCONT)
    mended = time.monotonic()

    def serves() -> bool:
        tend(group)
        return group.leader.complete(2) and all(pod.engine() for pod in group.pods.values())

    try:
        wait_for(serves, name, 2 * BOUND)
        again = f"{time.monotonic() - (mended if fault in (freeze, hang) else began):.1f}"
    except AssertionError:
        again = f"not in {2 * BOUND:g}"
    return f"{seen} | {again}"


def run(kind: type[Group], name: str) -> str:
    """Return what one fault costs a fresh group of a kind."""
    with tempfile.TemporaryDirectory() as folder:
        group = kind(Path(folder), 2, heartbeat=1, deadline=10)
        group.timers.update(LOCKSTEP_STALL_SECONDS="20")
        try:
            group.start()
            wait_for(lambda: group.leader.complete(2), "it serves", 120)
            return measure(group, name)
        finally:
            group.close()


def main() -> None:
    """Measure, and print the table."""
    AgentPod.torchrun = sys.argv[1]
    print("| fault | elastic agent: noticed, s | serving again, s | Lockstep: noticed, s | serving again, s |")
    print("| --- | --- | --- | --- | --- |")
    for name in FAULTS:
        print(f"| {name} | {run(Agents, name)} | {run(Group, name)} |", flush=True)


if __name__ == "__main__":
    main()
