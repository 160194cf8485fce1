"""The law: the split of the model uses exactly the GPUs of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Group, Layout, Release


def law(release: Release) -> Iterator[Finding]:
    """Require tensor x pipeline = nodes x gpusPerNode."""
    group, layout = release.group, release.layout
    if layout.ranks != group.gpus:
        yield Finding(
            "PAR001",
            "parallelism",
            f"parallelism needs tensor {layout.tensor} x pipeline {layout.pipeline} = {layout.ranks} GPUs, but group "
            f"has {group.nodes} nodes x {group.gpus_per_node} gpusPerNode = {group.gpus}",
            _repair(group, layout),
            _seen(group, layout),
        )


def tensor_across_nodes(release: Release) -> Iterator[Finding]:
    """Warn of tensor parallelism over a network that is not known to be fast."""
    group, layout = release.group, release.layout
    if layout.tensor > group.gpus_per_node and not release.network.rdma:
        yield Finding(
            "PAR010",
            "parallelism.tensor",
            f"tensor {layout.tensor} spans nodes of {group.gpus_per_node} GPUs: every layer waits for the network",
            f"Name the fast fabric (network.rdma, as values/fabrics do), or set parallelism.tensor: "
            f"{group.gpus_per_node} and parallelism.pipeline: {group.nodes}.",
            _seen(group, layout),
        )


def _repair(group: Group, layout: Layout) -> str:
    """Say which single changes fulfil the law."""
    ways = [f"parallelism.tensor: {group.gpus_per_node} with parallelism.pipeline: {group.nodes}"]
    if layout.ranks % group.gpus_per_node == 0:
        ways.append(f"group.nodes: {layout.ranks // group.gpus_per_node}")
    elif layout.ranks % group.nodes == 0:
        ways.append(f"group.gpusPerNode: {layout.ranks // group.nodes}")
    return f"Set {', or '.join(ways)}."


def _seen(group: Group, layout: Layout) -> dict[str, int]:
    return {
        "parallelism.tensor": layout.tensor,
        "parallelism.pipeline": layout.pipeline,
        "group.nodes": group.nodes,
        "group.gpusPerNode": group.gpus_per_node,
    }
