"""Seconds from a fault to its notice, and to serving again: the supervisor with its default timers.

    python benchmarks/lifecycle.py [RANKS ...]        (default: 2 8)

Real processes on loopback addresses, an engine without a model (tests/supervisor/fake_engine.py): what
is left is the supervisor's own share. Prints a table in Markdown, and what a supervisor costs.
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

from tests.supervisor.pods import Group, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

STALL = 20.0  # seconds; the chart's default is longer, and only adds


def kill_engine(group: Group, rank: int) -> None:
    """Kill an engine."""
    engine = group.pods[rank].engine()
    if engine:
        os.kill(engine, signal.SIGKILL)


def restart(group: Group, rank: int) -> None:
    """Kill a supervisor; its container starts again."""
    group.pods[rank].kill()
    group.pods[rank].start()


def replace(group: Group, rank: int) -> None:
    """Lose a pod; the next one has another address."""
    group.pods[rank].kill()
    group.add(rank).start()


def freeze(group: Group, rank: int) -> None:
    """Freeze a container until the others have noticed."""
    group.pods[rank].freeze()


def cut(group: Group, rank: int) -> None:
    """Cut a rank off until the others have noticed."""
    group.links[rank].cut = True


def hang(group: Group, rank: int) -> None:
    """Let the engine hang, its health page say 200."""
    group.pods[rank].tell("hang")


FAULTS: dict[str, tuple[Callable[[Group, int], None], int]] = {
    "engine of a worker killed": (kill_engine, 1),
    "engine of the leader killed": (kill_engine, 0),
    "supervisor of a worker killed": (restart, 1),
    "supervisor of the leader killed": (restart, 0),
    "worker pod replaced": (replace, 1),
    "leader pod replaced, new address": (replace, 0),
    "worker frozen": (freeze, 1),
    "leader frozen": (freeze, 0),
    "worker cut off": (cut, 1),
    f"engine hangs, health 200 (stallSeconds {STALL:g})": (hang, 0),
}


def mend(group: Group) -> None:
    """End a fault that does not end by itself."""
    for pod in group.pods.values():
        pod.freeze(signal.SIGCONT)
        pod.untell("hang")
    for link in group.links.values():
        link.cut = False


def measure(ranks: int) -> list[str]:
    """Return the rows of one size of a group."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        group = Group(Path(folder), ranks, heartbeat=1, deadline=10).linked()
        group.timers.update(LOCKSTEP_MAX_RESTARTS="1000", LOCKSTEP_STALL_SECONDS=str(STALL))
        try:
            group.start().wait_serving(120)
            for name, (fault, rank) in FAULTS.items():
                before = list(group.pods.values())
                began = time.monotonic()
                fault(group, rank)
                others = [pod for pod in before if pod.rank != rank] or before
                seen = [group.leader] if fault is hang else others
                wait_for(lambda seen=seen: all(pod.state() != "serving" for pod in seen), name, 120)
                noticed = time.monotonic() - began
                mend(group)
                mended = time.monotonic()
                group.wait_serving(120)
                again = time.monotonic() - (mended if fault in (freeze, cut, hang) else began)
                rows.append(f"| {name} | {ranks} | {noticed:.1f} | {again:.1f} |")
                sys.stderr.write(rows[-1] + "\n")
            sys.stderr.write(cost(group) + "\n")
            if group.violations():
                raise SystemExit("\n".join(group.violations()))
        finally:
            group.close()
    return rows


def cost(group: Group) -> str:
    """Return what serving for a while costs one supervisor."""
    span = 20.0
    pods = [group.leader, group.pods[1]]
    before = [pod.metric("process_cpu_seconds_total") or 0 for pod in pods]
    time.sleep(span)
    used = [(pod.metric("process_cpu_seconds_total") or 0) - was for pod, was in zip(pods, before, strict=True)]
    memory = [Path(f"/proc/{pod.process.pid}/status").read_text() for pod in pods if pod.process]
    sizes = [int(text.partition("VmRSS:")[2].split()[0]) / 1024 for text in memory]
    return (
        f"{group.count} ranks: leader {used[0] / span * 3600:.0f} CPU seconds per hour, {sizes[0]:.0f} MiB; "
        f"worker {used[1] / span * 3600:.0f}, {sizes[1]:.0f} MiB"
    )


def main() -> None:
    """Measure, and print the table."""
    sizes = [int(word) for word in sys.argv[1:]] or [2, 8]
    rows = [row for size in sizes for row in measure(size)]
    print("| fault | ranks | noticed, s | serving again, s |\n| --- | --- | --- | --- |")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
