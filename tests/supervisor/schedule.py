"""Random faults, one after another and some at a time, on a group of real processes; seeded.

The invariants: never two engines of one rank, never two incarnations together (the fake engines write
down what they see), and back to serving whenever the faults have ended.
"""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

REST = 5  # steps after which the group must serve again


class Schedule:
    """A seeded sequence of faults.

    Parameters
    ----------
    group
        A linked group that serves.
    seed
        Decides everything but the machine's own timing.
    """

    def __init__(self, group: Group, seed: int) -> None:
        self.group = group
        self.chance = random.Random(seed)
        self.done: list[str] = []

    def run(self, steps: int) -> None:
        """Do so many steps; after every few of them the group must serve.

        Raises
        ------
        AssertionError
            If it does not, or an engine saw what must never be.
        """
        faults: list[Callable[[int], None]] = [
            self.kill_engine,
            self.restart_container,
            self.replace_pod,
            self.freeze,
            self.cut,
            self.delay,
            self.exit_zero,
        ]
        for step in range(1, steps + 1):
            fault, rank = self.chance.choice(faults), self.chance.randrange(self.group.count)
            self.done.append(f"{step} {fault.__name__} {rank}")
            fault(rank)
            time.sleep(self.chance.choice([0, 0, 0.2, 1]))
            if step % REST == 0 or step == steps:
                self.heal()

    def heal(self) -> None:
        """End all faults, and see the group serve."""
        for link in self.group.links.values():
            link.cut, link.delay = False, 0.0
        for pod in self.group.pods.values():
            pod.untell("quit")
            pod.freeze(signal.SIGCONT)
            if not pod.process or pod.process.poll() is not None:
                self.again(pod.rank)
        try:
            wait_for(self.serving_or_restarted, f"serving after {self.done[-REST:]}", 120)
        finally:
            assert [] == self.group.violations(), self.done

    def serving_or_restarted(self) -> bool:
        """Do what kubelet does about containers that ended, and return whether the group serves."""
        for pod in self.group.pods.values():
            if pod.process and pod.process.poll() is not None:
                self.again(pod.rank)
        return self.group.serving()

    def again(self, rank: int) -> None:
        """Start a pod's next container."""
        self.group.pods[rank].kill()
        self.group.pods[rank].start()

    def kill_engine(self, rank: int) -> None:
        """Kill an engine, if there is one."""
        if engine := self.group.pods[rank].engine():
            os.kill(engine, signal.SIGKILL)

    def exit_zero(self, rank: int) -> None:
        """Let an engine end by itself."""
        self.group.pods[rank].tell("quit")
        time.sleep(0.2)
        self.group.pods[rank].untell("quit")

    def restart_container(self, rank: int) -> None:
        """Kill a supervisor; its container ends and the next begins."""
        self.again(rank)

    def replace_pod(self, rank: int) -> None:
        """Lose a pod; its successor has another address."""
        self.group.pods[rank].kill()
        self.group.add(rank).start()

    def freeze(self, rank: int) -> None:
        """Stop a container, for shorter or longer than the deadline."""
        self.group.pods[rank].freeze()
        time.sleep(self.chance.choice([0.1, 0.5, 2.5]))
        self.group.pods[rank].freeze(signal.SIGCONT)

    def cut(self, rank: int) -> None:
        """Cut a worker off, or mend its link."""
        if rank:
            self.group.links[rank].cut = not self.group.links[rank].cut

    def delay(self, rank: int) -> None:
        """Make a worker's link slow, perhaps slower than the deadline."""
        if rank:
            self.group.links[rank].delay = self.chance.choice([0.0, 0.1, 0.5, 1.5])
