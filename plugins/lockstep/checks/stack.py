"""What each stack can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

# What a stack does on a change, where it leaves no choice.
_PLAIN: Final = {
    "kueue": "on stack kueue a change replaces all groups together",
    "grove": "on stack grove a change replaces one group after the other",
}


def foreign_blocks(release: Release) -> Iterator[Finding]:
    """Refuse settings of a stack that was not chosen."""
    for block, settings in release.stack.blocks.items():
        if settings and block != release.stack.name:
            yield Finding(
                "STK006",
                f"stack.{block}",
                f"stack.{block} is set, but stack.name is {release.stack.name}",
                "Remove the block.",
                {"stack.name": release.stack.name},
            )


def workers_of_one_node(release: Release) -> Iterator[Finding]:
    """Refuse settings of workers where there are none."""
    for section in release.sections:
        if release.group.nodes == 1 and section.name == "worker" and section.given:
            yield Finding(
                "STK006",
                "worker",
                "worker is set, but with group.nodes 1 there is no worker",
                "Move it to pod, or remove it.",
                {"group.nodes": 1},
            )


def one_node_deployment(release: Release) -> Iterator[Finding]:
    """Refuse several nodes on a Deployment."""
    nodes = release.group.nodes
    if release.stack.name == "deployment" and nodes > 1:
        yield Finding(
            "STK001",
            "group.nodes",
            f"group.nodes is {nodes}, but a Deployment runs each replica as one pod",
            "Set stack.name: lws, or group.nodes: 1 with as many GPUs.",
            {"group.nodes": nodes, "stack.name": "deployment"},
        )


def partition(release: Release) -> Iterator[Finding]:
    """Refuse a partition on a Deployment, which has none."""
    rollout = release.rollout
    if release.stack.name == "deployment" and rollout.partition > 0:
        yield Finding(
            "STK006",
            "rollout.partition",
            f"rollout.partition is {rollout.partition}, but a Deployment has no partition",
            "Remove it, or set stack.name: lws.",
            {"rollout.partition": rollout.partition, "stack.name": "deployment"},
        )


def plain_rollout(release: Release) -> Iterator[Finding]:
    """Refuse a choice of how to replace groups where the stack has none."""
    what = _PLAIN.get(release.stack.name)
    rollout = release.rollout
    given = {
        "maxUnavailable": rollout.max_unavailable,
        "maxSurge": rollout.max_surge,
        "partition": str(rollout.partition),
    }
    for key, default in (("maxUnavailable", "1"), ("maxSurge", "0"), ("partition", "0")):
        if what and given[key] != default:
            yield Finding(
                "STK006",
                f"rollout.{key}",
                f"rollout.{key} is {given[key]}, but {what}",
                "Remove it, or set stack.name: lws.",
                {f"rollout.{key}": given[key], "stack.name": release.stack.name},
            )


def one_template(release: Release) -> Iterator[Finding]:
    """Refuse settings of a role where one template makes the pods of all ranks."""
    nodes = release.group.nodes
    for section in release.sections:
        if release.stack.name == "kueue" and nodes > 1 and section.name != "pod" and section.given:
            yield Finding(
                "STK013",
                section.name,
                f"{section.name} is set, but on stack kueue one template makes all {nodes} pods of a group",
                "Move it to pod, or set stack.name: lws.",
                {"stack.name": "kueue", "group.nodes": nodes},
            )


def spread_on_grove(release: Release) -> Iterator[Finding]:
    """Refuse constraints that Grove's webhook does not take."""
    for section in release.sections:
        if release.stack.name == "grove" and section.spread:
            path = f"{section.name}.topologySpreadConstraints"
            yield Finding(
                "STK015",
                path,
                f"{path} is set, but Grove refuses it",
                f"Use topology, or {section.name}.affinity.",
                {"stack.name": "grove"},
            )


def groups_replaced_together(release: Release) -> Iterator[Finding]:
    """Warn that an upgrade takes all groups at once."""
    replicas = release.rollout.replicas
    if release.stack.name == "kueue" and replicas > 1:
        yield Finding(
            "STK012",
            "replicas",
            f"an upgrade replaces all {replicas} groups together, which means downtime of a model load",
            "Split them over several releases, or set stack.name: lws.",
            {"stack.name": "kueue", "replicas": replicas},
        )


def groups_without_gang(release: Release) -> Iterator[Finding]:
    """Warn that pods of several groups compete for nodes one by one."""
    replicas, nodes = release.rollout.most, release.group.nodes
    if release.manager == "none" and replicas > 1 and nodes > 1:
        yield Finding(
            "STK007",
            "replicas",
            f"{replicas} groups of {nodes} pods without gang scheduling: with too few nodes all may get a part and "
            "none all of it",
            f"Have {replicas * nodes} nodes free before installing or scaling.",
            {"replicas": replicas, "group.nodes": nodes},
        )
