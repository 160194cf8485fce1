"""What groups ask of a queue: that it is there, has quota for them, and waits until they have started."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.manifests import workloads
from lockstep.quantity import amount
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.live.cluster import Cluster
    from lockstep.manifests.workloads import Workload
    from lockstep.rehearse.tree import Node

KUEUE: Final = "kueue.x-k8s.io/queue-name"
KAI: Final = "kai.scheduler/queue"
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(h|m(?!s)|s|ms)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def queues(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require the queue that admits a group, with quota for it."""
    asked: dict[str, list[Workload]] = {}
    labels = {(item.get("kind"), tree.text(item, "metadata", "name")): label(item, KUEUE) for item in objects}
    for workload in workloads.find(objects):
        queue = labels.get((workload.kind, workload.name.partition("/")[0]))
        if queue:
            asked.setdefault(queue, []).append(workload)
    there = cluster.named("localqueues.kueue.x-k8s.io", namespace) if asked else None
    if there is not None:
        made = {tree.text(item, "metadata", "name"): item for item in objects if item.get("kind") == "LocalQueue"}
        for queue, members in asked.items():
            yield from _kueue(queue, members, namespace, cluster, {**there, **made})
    yield from _kai(objects, cluster)


def patience(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Warn when Kueue evicts a group before its startup probe gives up."""
    del namespace
    if not any(label(item, KUEUE) for item in objects):
        return
    written = cluster.kueue_patience()
    if written is None:
        return
    allowed = sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(written))
    for workload in workloads.find(objects):
        for pods in workload.pods[:1]:
            budget = max((_budget(container) for container in pods.containers), default=0.0)
            if budget > allowed:
                yield Finding(
                    "CLU011",
                    workload.label,
                    f"its pods may take {budget:g} s to start, but Kueue's waitForPodsReady.timeout is {written}: it "
                    "evicts the group before",
                    f"Raise waitForPodsReady.timeout in Kueue's configuration above {budget:g} s.",
                    {"waitForPodsReady.timeout": written, "seconds": budget},
                )


def replicas(workload: Workload, *, surge: bool = False) -> int:
    """Give how many groups an object runs, with those that an upgrade adds if these count."""
    written = workload.spec.get("replicas") if workload.kind in ("LeaderWorkerSet", "Deployment") else 1
    count = written if isinstance(written, int) else 1
    if not surge:
        return count
    rolling = tree.text(workload.spec, "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge") or tree.text(
        workload.spec, "strategy", "rollingUpdate", "maxSurge", default="0"
    )
    extra = math.ceil(int(rolling[:-1]) * count / 100) if rolling.endswith("%") else int(rolling or 0)
    return count + extra


def label(item: Node, key: str) -> str:
    """Give a label of an object; empty if it has not got it."""
    return tree.strings(item, "metadata", "labels").get(key, "")


def _kueue(
    queue: str, members: list[Workload], namespace: str, cluster: Cluster, local: dict[str, Node]
) -> Iterator[Finding]:
    if queue not in local:
        yield Finding(
            "CLU005",
            members[0].label,
            f"namespace {namespace} has no LocalQueue {queue}: it has {', '.join(sorted(local)) or 'none'}",
            "Make it, or name another queue.",
            {"LocalQueue": queue},
        )
        return
    name = tree.text(local[queue], "spec", "clusterQueue")
    target = (cluster.named("clusterqueues.kueue.x-k8s.io") or {}).get(name)
    resource = next((pods.devices()[0] for member in members for pods in member.pods if pods.devices()[1]), "")
    if target is None or not resource:
        return
    quota = _quota(target, resource)
    largest = max(member.gpus for member in members)
    everything = sum(member.gpus * replicas(member, surge=True) for member in members)
    if quota is not None and quota < largest:
        yield Finding(
            "CLU006",
            members[0].label,
            f"a group asks for {largest} {resource}, but ClusterQueue {name} has a quota of {quota}: nothing admits it",
            "Raise the quota, or take a smaller group.",
            {"quota": quota, "GPUs of a group": largest},
        )
    elif quota is not None and quota < everything:
        yield Finding(
            "CLU007",
            members[0].label,
            f"all groups with their surge ask for {everything} {resource}, and ClusterQueue {name} has a quota of "
            f"{quota}",
            "Raise the quota, or take fewer replicas or a smaller surge.",
            {"quota": quota, "GPUs": everything},
        )


def _quota(queue: Node, resource: str) -> int | None:
    """Give the most that a ClusterQueue can hand out; None where it may borrow without bound."""
    total = 0
    for group in tree.items(queue, "spec", "resourceGroups"):
        for flavor in tree.items(group, "flavors"):
            for row in tree.items(flavor, "resources"):
                if row.get("name") == resource:
                    shared = tree.text(queue, "spec", "cohort") or tree.text(queue, "spec", "cohortName")
                    if shared and row.get("borrowingLimit") is None:
                        return None
                    parts = (amount(tree.text(row, key, default="0")) for key in ("nominalQuota", "borrowingLimit"))
                    total += sum(int(part) for part in parts if part is not None)
    return total


def _kai(objects: list[Node], cluster: Cluster) -> Iterator[Finding]:
    for item in objects:
        queue = label(item, KAI)
        there = cluster.named("queues.scheduling.run.ai") if queue else None
        if there is not None and queue not in there:
            yield Finding(
                "CLU005",
                f"{tree.text(item, 'kind')}/{tree.text(item, 'metadata', 'name')}",
                f"the cluster has no queue {queue} of KAI: it has {', '.join(sorted(there)) or 'none'}",
                "Make it, or name another queue.",
                {"Queue": queue},
            )


def _budget(container: Node) -> float:
    probe = tree.mapping(container, "startupProbe")
    delay, period = (
        tree.number(probe, "initialDelaySeconds", default=0),
        tree.number(probe, "periodSeconds", default=10),
    )
    return delay + period * tree.number(probe, "failureThreshold", default=3) if probe else 0.0
