"""What a group must have to start and to come back: one layout on all pods, and as many GPUs as it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.manifests.command import FACTORS, NAMES
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.manifests.group import Group

_SAME: Final = ("model", *FACTORS, "nodes")


def law(group: Group) -> Iterator[Finding]:
    """Hold the ranks of the command against the accelerators of the pods."""
    engine, workload = group.engine, group.workload
    ranks, gpus = engine.ranks, workload.gpus
    if ranks is None or not gpus:
        return
    factors = [part for part in FACTORS if part == "tensor" or engine.number(part) != 1]
    asked = " x ".join(f"{part} {engine.number(part)}" for part in factors)
    pods = " + ".join(f"{each.count} x {each.devices()[1]}" for each in workload.pods if each.devices()[1])
    seen = {"ranks": ranks, "GPUs": gpus}
    if ranks > gpus:
        yield Finding(
            "PAR001",
            workload.label,
            f"{engine.name} is told {asked} = {ranks} GPUs, but the pods of a group have {pods} = {gpus}",
            f"Change the factors to {gpus} GPUs, or {workload.size_path} and the GPUs of its pods.",
            seen,
        )
    elif ranks < gpus and not workload.settings:  # Ray Serve fills its cluster with replicas
        yield Finding(
            "PAR017",
            workload.label,
            f"{engine.name} is told {asked} = {ranks} GPUs, and the pods of a group have {pods} = {gpus}: "
            f"{gpus - ranks} stay idle",
            f"Change the factors to {gpus} GPUs, or ask for fewer.",
            seen,
        )


def nodes(group: Group) -> Iterator[Finding]:
    """Hold the engine's count of nodes against the group's."""
    engine, size = group.engine, group.workload.size
    told = engine.number("nodes")
    if group.ray or engine.name == "trtllm" or told is None or size == 0:
        return
    shares = engine.name == "vllm" and (engine.has("local") or engine.has("address")) and not engine.has("nodes")
    if told != size and not shares:
        name = "nnodes"
        yield Finding(
            "ENG011",
            group.workload.label,
            f"{engine.name} is told of {told} node{'s' * (told > 1)} (--{name}), but a group has {size} pods with GPUs",
            f"Set --{name} {size} on every pod, with the address of the first.",
            {f"--{name}": told, "pods": size},
        )


def same_everywhere(group: Group) -> Iterator[Finding]:
    """Require one layout and one number of accelerators on all pods."""
    workload = group.workload
    for worker in group.workers:
        theirs = worker.engine
        if theirs is not None and theirs.name == group.engine.name:
            for part in _SAME:
                ours, other = group.engine.text(part), theirs.text(part)
                if ours != other and "$" not in ours + other:
                    yield Finding(
                        "ENG012",
                        workload.label,
                        f"the {worker.pods.role} starts {theirs.name} with {_told(theirs.name, part)} "
                        f"{other or 'absent'}, the leader with {ours or 'absent'}",
                        "Give every pod of a group the same layout and model.",
                        {"leader": ours, worker.pods.role: other},
                    )
        mine, leaders = worker.pods.devices()[1], group.leader.pods.devices()[1]
        if mine != leaders and not group.ray:
            yield Finding(
                "OPS001",
                workload.label,
                f"the {worker.pods.role} asks for {mine} GPUs, the leader for {leaders}: ranks are dealt out to "
                "nodes of one size",
                "Ask for the same number on every pod of a group.",
                {"leader": leaders, worker.pods.role: mine},
            )


def headless(group: Group) -> Iterator[Finding]:
    """Require vLLM's other ranks to run without an API server of their own."""
    if group.engine.name != "vllm" or group.ray or not group.engine.has("nodes"):
        return
    if group.engine.module:
        yield Finding(
            "ENG013",
            group.workload.label,
            "python -m vllm.entrypoints.openai.api_server spans nodes in no release: it does not look at --headless",
            "Start it as vllm serve.",
        )
        return
    for worker in group.workers:
        if worker.engine and not worker.engine.has("headless") and not group.takes(worker) and not worker.engine.open:
            yield Finding(
                "ENG013",
                group.workload.label,
                f"the {worker.pods.role} starts vllm serve without --headless, so a rank that is not the first would "
                "open an API server",
                "Add --headless to every rank but the first.",
            )


def order(group: Group) -> Iterator[Finding]:
    """Refuse pods that are started one after another although they wait for each other."""
    workload = group.workload
    if len(workload.pods) < 2 or not group.workers:
        return
    policy = tree.text(workload.spec, "startupPolicy", default="LeaderCreated")
    managed = tree.text(workload.spec, "podManagementPolicy", default="OrderedReady")
    if workload.kind == "LeaderWorkerSet" and policy == "LeaderReady":
        what, path, right = policy, "spec.startupPolicy", "LeaderCreated"
    elif workload.kind == "StatefulSet" and managed == "OrderedReady":
        what, path, right = managed, "spec.podManagementPolicy", "Parallel"
    elif tree.text(workload.spec, "cliqueStartupType") == "CliqueStartupTypeInOrder":
        what, path, right = "CliqueStartupTypeInOrder", "spec.template.cliqueStartupType", "CliqueStartupTypeAnyOrder"
    else:
        return
    yield Finding(
        "STK018",
        workload.label,
        f"{path} is {what}: the workers are made when the leader is Ready, which it is only when they have joined",
        f"Set {path}: {right}.",
        {path: what},
    )


def restart(group: Group) -> Iterator[Finding]:
    """Warn of groups that stay broken when a rank is lost."""
    body = tree.mapping(group.workload.spec, "leaderWorkerTemplate")
    policy = tree.text(body, "restartPolicy")
    if policy in ("None", "Default") and group.workers and not group.leader.charted:
        yield Finding(
            "STK019",
            group.workload.label,
            f"restartPolicy is {policy}: when a rank is lost, the others wait for it and never serve again",
            "Set spec.leaderWorkerTemplate.restartPolicy: RecreateGroupOnPodRestart.",
            {"restartPolicy": policy},
        )


def _told(engine: str, part: str) -> str:
    names = NAMES[engine].get(part, ())
    return f"--{names[0]}" if names else part
