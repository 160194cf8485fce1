"""The controller's part: makes the group's pods, and makes them again when the stack would."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lockstep.rehearse.kubelet import Kubelet

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.rehearse.engine import Environment
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.network import Network, Place
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.timeline import Timeline


class Controller:
    """Runs a group.

    Parameters
    ----------
    group : Group
        What to run.
    network : Network
        Where.
    folder : Path
        Below which each pod has its own.
    base : callable
        From a rank and its folder to the environment that its image would give.
    timeline : Timeline
        Where everything is told.
    """

    def __init__(
        self,
        group: Group,
        network: Network,
        folder: Path,
        base: Environment,
        timeline: Timeline,
    ) -> None:
        self.group, self.timeline = group, timeline
        self.pods: dict[int, Kubelet] = {}
        self.delays: dict[int, float] = {}
        self.lives = 0  # of the group
        self.changed = asyncio.Event()
        self._network, self._folder, self._base = network, folder, base
        self._tasks: dict[Kubelet, asyncio.Task[None]] = {}
        self._made = 0
        self._leader: dict[str, str] = {}  # its address by each of its names
        self._ready = False
        self._recreating: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether all pods of the group are Ready."""
        return len(self.pods) == self.group.size and all(each.status.ready for each in self.pods.values())

    async def start(self) -> None:
        """Make all pods, the leader first (startupPolicy LeaderCreated)."""
        self.lives += 1
        for pod in self.group.pods():
            await self._create(pod)

    async def _create(self, pod: Pod) -> None:
        place: Place = await self._network.attach(pod)
        if pod.rank == 0:
            self._leader = dict.fromkeys(pod.dns_names, place.address)
        names = {} if self._network.names else self._leader
        self._made += 1
        folder = self._folder / str(self._made)
        base = self._base(pod.rank, folder) | {"HOSTNAME": pod.hostname}
        if not self._network.isolated:
            base["LOCKSTEP_BIND"] = place.address
        kubelet = Kubelet(pod, self.group, place, folder, base, names, self.timeline, self._on_change)
        self.pods[pod.rank] = kubelet
        kubelet.tell("created", f"pod {pod.name} has address {place.address}")
        self._tasks[kubelet] = asyncio.create_task(kubelet.run(self.delays.pop(pod.rank, 0.0)))

    def _on_change(self) -> None:
        self.changed.set()
        if self.ready != self._ready:
            self._ready = self.ready
            count = sum(each.status.ready for each in self.pods.values())
            text = "group is Ready" if self._ready else f"group is not Ready: {count} of {self.group.size} pods are"
            self.timeline.add("group", text)
        restarted = [each for each in self.pods.values() if each.status.restarts and each.status.phase != "Terminating"]
        if self.group.recreates and restarted:
            self._recreate(f"a container of {restarted[0].pod.name} restarted")

    def _recreate(self, why: str) -> None:
        if self._recreating is None or self._recreating.done():
            self.timeline.add("group", f"{why}: the controller deletes and recreates the group")
            self._recreating = asyncio.create_task(self._replace_all())

    async def _replace_all(self) -> None:
        await self._delete([*self.pods.values()], "the group is recreated")
        await self.start()

    async def _delete(self, pods: list[Kubelet], why: str) -> None:
        await asyncio.gather(*(each.delete(why) for each in pods))
        await asyncio.gather(*(self._tasks.pop(each) for each in pods if each in self._tasks))

    async def replace(self, rank: int, why: str) -> None:
        """Delete one pod from outside (eviction, node drain); the stack brings back what it would."""
        if self.group.falls_with(rank):
            self._recreate(f"pod {self.pods[rank].pod.name} was deleted ({why})")
            return
        await self._delete([self.pods[rank]], why)
        await self._create(self.group.pod(rank))

    async def stop(self) -> None:
        """Delete the group for good."""
        if self._recreating is not None:
            self._recreating.cancel()
            await asyncio.gather(self._recreating, return_exceptions=True)
        await self._delete([*self._tasks], "the rehearsal is over")

    def kill(self) -> None:
        """End everything now."""
        for kubelet in self._tasks:
            kubelet.kill()

    def failure(self) -> str | None:
        """Return what went wrong in a pod's own task, for the one who waits; None when all run."""
        tasks = [*self._tasks.values(), *([self._recreating] if self._recreating else [])]
        for task in tasks:
            if task.done() and not task.cancelled() and task.exception() is not None:
                return str(task.exception())
        return None
