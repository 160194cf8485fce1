"""The law: the split of the model uses exactly the GPUs of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Group, Layout, Release


def law(release: Release) -> Iterator[Finding]:
    """Require tensor x pipeline x data x context = nodes x gpusPerNode."""
    group, layout = release.group, release.layout
    if layout.ranks != group.gpus:
        yield Finding(
            "PAR001",
            "parallelism",
            f"parallelism needs {layout} = {layout.ranks} GPU{'s' * (layout.ranks > 1)}, but group has {group.nodes} "
            f"node{'s' * (group.nodes > 1)} x {group.gpus_per_node} gpusPerNode = {group.gpus}",
            _repair(group, layout),
            _seen(group, layout),
        )


def tensor_across_nodes(release: Release) -> Iterator[Finding]:
    """Warn of tensor parallelism over a network that is not known to be fast."""
    group, layout = release.group, release.layout
    if layout.tensor <= group.gpus_per_node:
        return
    device = release.engine.facts.devices.get(group.resource)
    if device is not None and device.fabric:
        yield Finding(
            "PAR010",
            "parallelism.tensor",
            f"tensor {layout.tensor} spans nodes of {group.gpus_per_node} {group.resource}: every layer waits for the "
            f"network, which must be {device.fabric}",
            f"Make sure that it is, or set parallelism.tensor: {group.gpus_per_node} and parallelism.pipeline: "
            f"{group.nodes}.",
            _seen(group, layout),
        )
    elif not release.network.rdma:
        yield Finding(
            "PAR010",
            "parallelism.tensor",
            f"tensor {layout.tensor} spans nodes of {group.gpus_per_node} GPUs: every layer waits for the network",
            f"Name the fast fabric (network.rdma, as values/fabrics do), or set parallelism.tensor: "
            f"{group.gpus_per_node} and parallelism.pipeline: {group.nodes}.",
            _seen(group, layout),
        )


def factors(release: Release) -> Iterator[Finding]:
    """Refuse a factor that the engine does not have."""
    engine, layout = release.engine, release.layout
    sizes = {"tensor": layout.tensor, "pipeline": layout.pipeline, "data": layout.data, "context": layout.context}
    for factor, size in sizes.items():
        if size > 1 and factor not in engine.facts.factors:
            yield Finding(
                "PAR013",
                f"parallelism.{factor}",
                f"parallelism.{factor} is {size}, but Lockstep lays {engine.name} out by "
                f"{', '.join(engine.facts.factors)} alone",
                f"Set parallelism.{factor}: 1.",
                {f"parallelism.{factor}": size, "engine.name": engine.name},
            )


def balancing(release: Release) -> Iterator[Finding]:
    """Refuse a load balancing that the engine does not have."""
    engine, layout = release.engine, release.layout
    if layout.balancing not in engine.facts.balancing:
        yield Finding(
            "PAR012",
            "parallelism.loadBalancing",
            f"parallelism.loadBalancing is {layout.balancing}, but of {engine.name} only the leader serves HTTP",
            "Remove it.",
            {"parallelism.loadBalancing": layout.balancing, "engine.name": engine.name},
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
    further = {"parallelism.data": layout.data, "parallelism.context": layout.context}
    return {
        "parallelism.tensor": layout.tensor,
        "parallelism.pipeline": layout.pipeline,
        **{factor: size for factor, size in further.items() if size > 1},
        "group.nodes": group.nodes,
        "group.gpusPerNode": group.gpus_per_node,
    }
