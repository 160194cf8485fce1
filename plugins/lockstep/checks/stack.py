"""What each stack can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release


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


def groups_without_gang(release: Release) -> Iterator[Finding]:
    """Warn that pods of several groups compete for nodes one by one."""
    replicas, nodes = release.rollout.replicas, release.group.nodes
    if replicas > 1 and nodes > 1:
        yield Finding(
            "STK007",
            "replicas",
            f"{replicas} groups of {nodes} pods without gang scheduling: with too few nodes all may get a part and "
            "none all of it",
            f"Have {replicas * nodes} nodes free before installing or scaling.",
            {"replicas": replicas, "group.nodes": nodes},
        )
