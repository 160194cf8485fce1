"""Kubelet's part, seen from the timeline: probes with their thresholds, restarts, back-off, the way to the end.

The containers are shell commands on loopback addresses; the engine is the stand-in where one is needed.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from lockstep.rehearse.controller import Controller
from lockstep.rehearse.network import Loopback
from lockstep.rehearse.processes import parents
from lockstep.rehearse.timeline import Timeline

from .builders import QUICK, container, group, lws, pod_template

if TYPE_CHECKING:
    from pathlib import Path

BASE = {"PATH": os.environ["PATH"]}


class Pods:
    """A running group of shell commands."""

    def __init__(self, folder: Path, objects: list[dict[str, object]]) -> None:
        self.timeline = Timeline(folder / "timeline.jsonl")
        self.controller = Controller(group(*objects), Loopback(os.getpid()), folder, lambda *_: BASE, self.timeline)

    async def __aenter__(self) -> Pods:
        """Create the pods."""
        await self.controller.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End them all at once."""
        self.controller.kill()
        await self.controller.stop()
        self.timeline.close()

    def texts(self, *kinds: str, rank: int = 0) -> list[str]:
        """Return what the events of these kinds say."""
        return [event.text for event in self.timeline.events if event.kind in kinds and event.rank in (rank, None)]

    async def until(self, kind: str, count: int = 1, rank: int = 0, seconds: float = 10.0) -> None:
        """Wait for so many events of a kind."""
        deadline = self.timeline.now() + seconds
        while sum(event.kind == kind and event.rank == rank for event in self.timeline.events) < count:
            assert self.timeline.now() < deadline, self.timeline.events
            await asyncio.sleep(0.05)


def one(folder: Path, policy: str = "None", grace: int = 4, **fields: object) -> Pods:
    """Return a group of one pod that runs a shell command."""
    made = container(**({"readinessProbe": None} | fields))
    template = pod_template(made, terminationGracePeriodSeconds=grace)
    return Pods(folder, lws(size=1, policy=policy, leader=template))


def shell(script: str) -> list[str]:
    """Return a command."""
    return ["bash", "-c", script]


def test_a_container_that_ends_starts_again_then_backs_off(tmp_path: Path) -> None:
    """The first restart comes at once, the second after ten seconds."""

    async def play() -> None:
        async with one(tmp_path, command=shell("exit 3")) as pods:
            await pods.until("backoff")

            assert ["container ended with exit code 3"] * 2 == pods.texts("exited")
            assert ["CrashLoopBackOff: the container starts again in 10 s"] == pods.texts("backoff")
            assert ("BackOff", 1) == (pods.controller.pods[0].status.phase, pods.controller.pods[0].status.restarts)

    asyncio.run(play())


def test_startup_gates_the_others(tmp_path: Path) -> None:
    """Readiness and liveness are not asked before startup succeeded; liveness would kill this container at once."""

    async def play() -> None:
        async with one(
            tmp_path,
            command=shell("sleep 1.5; touch started; sleep 60"),
            startupProbe={"exec": {"command": ["test", "-f", "started"]}, **QUICK},
            livenessProbe={"exec": {"command": ["test", "-f", "started"]}, **QUICK, "failureThreshold": 1},
            readinessProbe={"exec": {"command": ["true"]}, **QUICK},
        ) as pods:
            await pods.until("ready")

            assert ["started", "startup", "ready"] == [
                event.kind for event in pods.timeline.events if event.kind in ("started", "startup", "ready", "exited")
            ]

    asyncio.run(play())


@pytest.mark.parametrize("kind", ["startup", "liveness"])
def test_probe_kills_after_its_threshold(tmp_path: Path, kind: str) -> None:
    """So many failures, then TERM, and the container starts again."""

    async def play() -> None:
        probe = {"exec": {"command": ["false"]}, **QUICK, "failureThreshold": 2}
        polite = shell("trap 'exit 0' TERM; sleep 60 & wait")
        async with one(tmp_path, command=polite, **{f"{kind}Probe": probe}) as pods:
            await pods.until("started", 2)

            assert f"{kind} probe failed 2 times: command ended with 1; grace period 4 s" in pods.texts("killing")
            assert "container ended with exit code 0" in pods.texts("exited")

    asyncio.run(play())


def test_slow_exec_probe_fails_by_its_timeout(tmp_path: Path) -> None:
    """A command that does not come back counts as a failure, and is ended."""

    async def play() -> None:
        probe = {"exec": {"command": ["sleep", "30"]}, **QUICK}
        async with one(tmp_path, command=shell("sleep 60"), readinessProbe=probe) as pods:
            await pods.until("probe")

            assert ["readiness failed: command timed out after 1 s"] == pods.texts("probe")

    asyncio.run(play())


def test_readiness_comes_and_goes_by_threshold(tmp_path: Path) -> None:
    """One success makes Ready, three failures in a row take it back; the container stays."""

    async def play() -> None:
        probe = {"exec": {"command": ["test", "-f", "up"]}, **QUICK}
        async with one(tmp_path, command=shell("touch up; sleep 1.5; rm up; sleep 60"), readinessProbe=probe) as pods:
            await pods.until("not-ready")
            first = {event.kind: event.at for event in reversed(pods.timeline.events)}

            # Three periods of a second, each of which may begin some milliseconds early or late.
            assert 2.9 <= first["not-ready"] - first["ready"] <= 6.0
            assert [] == pods.texts("exited")

    asyncio.run(play())


def test_grace_period_ends_with_kill(tmp_path: Path) -> None:
    """PreStop and TERM share the grace period; what is left then gets SIGKILL."""

    async def play() -> None:
        async with one(
            tmp_path,
            grace=2,
            command=shell("trap '' TERM; while :; do sleep 1; done"),
            lifecycle={"preStop": {"exec": {"command": ["touch", "was-here"]}}},
        ) as pods:
            await pods.until("started")
            await asyncio.sleep(0.3)
            await pods.controller.stop()

            assert [
                "the rehearsal is over; grace period 2 s",
                "preStop: exec",
                "still there after 2 s: SIGKILL",
            ] == pods.texts("killing")
            assert ["container ended with exit code 137 (SIGKILL)"] == pods.texts("exited")
            assert list(tmp_path.glob("*/0/was-here"))

    asyncio.run(play())


def test_orphans_end_with_the_container(tmp_path: Path) -> None:
    """What process 1 left running ends with it, wherever it hides, as the end of a pid namespace would do it."""

    async def play() -> None:
        hiding = shell("setsid bash -c 'echo $BASHPID >pid; exec sleep 60' & sleep 0.5; exit 0")
        async with one(tmp_path, command=hiding) as pods:
            await pods.until("exited")
            (pid,) = (int(path.read_text()) for path in tmp_path.glob("*/0/pid"))

            assert pid not in parents()

    asyncio.run(play())


@pytest.mark.parametrize(("lives", "policy"), [(2, "RecreateGroupOnPodRestart"), (1, "None")], ids=["recreate", "none"])
def test_group_is_recreated_when_a_container_restarts(tmp_path: Path, lives: int, policy: str) -> None:
    """Under the recreating policy one restart replaces all pods, by new ones with new uids; else only the container."""

    async def play() -> None:
        once = shell(f"[[ -e {tmp_path}/again ]] || {{ touch {tmp_path}/again; exit 1; }}; sleep 60")
        leader = pod_template(container(command=shell("sleep 60"), readinessProbe=None))
        workers = pod_template(container(command=once, readinessProbe=None))
        async with Pods(tmp_path, lws(policy=policy, leader=leader, workers=workers)) as pods:
            before = {rank: pod.pod.uid for rank, pod in pods.controller.pods.items()}
            await pods.until("started", 3 if lives == 2 else 2, rank=1)
            await asyncio.sleep(0.2)
            after = {rank: pod.pod.uid for rank, pod in pods.controller.pods.items()}

            assert lives == pods.controller.lives
            assert (lives == 1) is (before == after)
            assert all(before[rank] != after[rank] for rank in before) is (lives == 2)

    asyncio.run(play())


def test_lost_leader_takes_its_workers_along(tmp_path: Path) -> None:
    """The workers' StatefulSet belongs to the leader pod: even policy None replaces all when the leader is deleted."""

    async def play() -> None:
        template = pod_template(container(command=shell("sleep 60"), readinessProbe=None))
        async with Pods(tmp_path, lws(policy="None", leader=template, workers=template)) as pods:
            await pods.until("started", rank=1)
            await pods.controller.replace(0, "test")
            await pods.until("started", 2, rank=1)

            assert 2 == pods.controller.lives

    asyncio.run(play())


def test_replaced_worker_alone(tmp_path: Path) -> None:
    """Policy None: only the deleted worker is replaced, under its old name."""

    async def play() -> None:
        template = pod_template(container(command=shell("sleep 60"), readinessProbe=None))
        async with Pods(tmp_path, lws(policy="None", leader=template, workers=template)) as pods:
            await pods.until("started", rank=1)
            await pods.controller.replace(1, "test")
            await pods.until("started", 2, rank=1)

            assert 1 == len(pods.texts("started", rank=0))
            assert "model-0-1" == pods.controller.pods[1].pod.name

    asyncio.run(play())
