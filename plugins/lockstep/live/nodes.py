"""What pods ask of nodes: a shape that takes them, and as many nodes as there are pods."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.live.cluster import lacks, offers, repels
from lockstep.live.queues import replicas
from lockstep.manifests import workloads
from lockstep.quantity import amount
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.live.cluster import Cluster
    from lockstep.manifests.workloads import Pods
    from lockstep.rehearse.tree import Node


def nodes(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require nodes that have what a pod asks for, and as many as there are pods."""
    del namespace
    there = cluster.get("nodes")
    for workload in workloads.find(objects) if there is not None else ():
        asking = [pods for pods in workload.pods if _device(pods)[1]]
        homeless = [pods for pods in asking if not _room(pods, there or [])]
        if homeless:
            resource, number = _device(homeless[0])
            reasons = Counter(_reason(node, homeless[0]) for node in there or ())
            said = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common() if reason)
            yield Finding(
                "CLU003",
                workload.label,
                f"none of the {len(there or ())} nodes takes a {' or '.join(pods.role for pods in homeless)} with "
                f"{number} {resource}" + (f": {said}" if said else ""),
                "Change the node selector, the tolerations or the GPUs a pod asks for, or add such nodes.",
                {"nodes": len(there or ())},
            )
        elif asking:
            room, wanted = _room(asking[0], there or []), workload.size * replicas(workload)
            if room < wanted:
                yield Finding(
                    "CLU004",
                    workload.label,
                    f"{wanted} pods need as many places, and the nodes that take them have {room}",
                    "Add nodes (an autoscaler may do it), or take fewer replicas.",
                    {"places": room, "pods": wanted},
                )


def _device(pods: Pods) -> tuple[str, int]:
    """Give the accelerator that a pod asks for, or else the first device of a name that nobody here knows."""
    return next(((name, number) for name, number in _asked(pods).items() if number), ("", 0))


def _room(pods: Pods, there: list[Node]) -> int:
    """Give how many such pods the nodes have room for."""
    resource, number = _device(pods)
    return sum(offers(node, resource) // number for node in there if not _reason(node, pods))


def _reason(node: Node, pods: Pods) -> str:
    """Say why a node takes no such pod; empty if it does."""
    for resource, number in _asked(pods).items():
        if offers(node, resource) < number:
            return f"offer {offers(node, resource)} {resource} where {number} are asked for"
    label, taint = lacks(node, pods.spec), repels(node, pods.spec)
    return f"lack the label {label}" if label else f"have the taint {taint}" if taint else ""


def _asked(pods: Pods) -> dict[str, int]:
    """Give the extended resources that one pod asks for, GPUs and RDMA devices."""
    total: dict[str, int] = dict([pods.devices()])
    for container in pods.containers:
        for name, text in tree.mapping(container, "resources", "limits").items():
            number = amount(str(text))
            if "/" in name and number:
                total[name] = max(total.get(name, 0), int(number))
    return total
