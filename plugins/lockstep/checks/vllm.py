"""What vLLM cannot do. The chart's part: ``templates/engine/_vllm.tpl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.release import version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release
    from lockstep.yamlfile import Value


def rules(release: Release) -> Iterator[Finding]:
    """Give what vLLM refuses, or would do in another way than the values say."""
    if release.engine.name != "vllm":
        return
    yield from experts(release)
    if release.group.nodes > 1:
        yield from ray(release) if release.engine.executor == "ray" else mp(release)
    elif release.engine.executor == "ray":
        yield Finding(
            "ENG005",
            "engine.executor",
            "engine.executor is ray, but group.nodes is 1: one node needs no Ray",
            "Remove engine.executor.",
            {"group.nodes": 1},
        )
    yield from balancing(release)
    yield from device(release)


def experts(release: Release) -> Iterator[Finding]:
    """Deal experts to a whole stage or to nobody (``fused_moe/config.py``)."""
    layout = release.layout
    if layout.expert not in (1, layout.stage):
        yield Finding(
            "PAR009",
            "parallelism.expert",
            f"parallelism.expert is {layout.expert}, but vLLM deals experts to all {layout.stage} ranks of a pipeline "
            "stage or to none",
            "Set parallelism.expert: all, or remove it.",
            {"parallelism.expert": layout.expert, "ranks of a stage": layout.stage},
        )


def mp(release: Release) -> Iterator[Finding]:
    """Several nodes without Ray: data parallel engines take whole nodes, or a node takes whole engines."""
    layout, per_node = release.layout, release.group.gpus_per_node
    if layout.data == 1:
        return
    seen = {"GPUs of an engine": layout.engine, "group.gpusPerNode": per_node}
    if max(layout.engine, per_node) % min(layout.engine, per_node):
        yield Finding(
            "PAR011",
            "parallelism",
            f"parallelism makes {layout.data} data parallel engines of {layout.engine} GPUs, which do not fill nodes "
            f"of group.gpusPerNode {per_node}: an engine must take whole nodes, or a node whole engines",
            "Change parallelism.tensor or parallelism.pipeline.",
            seen,
        )
    since = release.engine.facts.own["spanningDataSince"]
    if layout.engine > per_node and version(release.engine.version) < version(since):
        yield Finding(
            "ENG003",
            "engine.version",
            f"engine.version is {release.engine.version}, but data parallel engines of {layout.engine} GPUs span nodes "
            f"of {per_node}, which vLLM does only from {since} on",
            "Raise engine.version.",
            {"engine.version": release.engine.version, **seen},
        )


def ray(release: Release) -> Iterator[Finding]:
    """Several nodes with Ray: one engine, and an image that holds Ray."""
    engine, layout = release.engine, release.layout
    if layout.data > 1:
        yield Finding(
            "PAR013",
            "parallelism.data",
            f"parallelism.data is {layout.data}, but engine.executor is ray, with which Lockstep runs one engine a "
            "replica",
            f"Set engine.executor: mp, or replicas: {layout.data} of smaller groups.",
            {"parallelism.data": layout.data},
        )
    until = engine.facts.own["rayUntil"]
    if engine.repository is None and version(engine.version) >= version(until):
        yield Finding(
            "ENG006",
            "engine.image.repository",
            f"engine.executor is ray, but vLLM's own image of {engine.version} holds no Ray: vLLM's images left it out "
            f"from {until} on",
            "Set engine.image.repository to an image that has it, or engine.executor: mp.",
            {"engine.version": engine.version},
        )


def balancing(release: Release) -> Iterator[Finding]:
    """Require several engines, each with HTTP, where something outside the group chooses between them."""
    layout, group = release.layout, release.group
    kind, per_node = layout.balancing, group.gpus_per_node
    if not layout.every_pod_serves:
        return
    if layout.data == 1 or group.nodes == 1:
        reason = (
            f"with parallelism.data {layout.data} and group.nodes {group.nodes} there are no engines on several nodes "
            "to choose from"
        )
        fix = "Remove it."
    elif layout.engine > per_node:
        reason = f"each engine has {layout.engine} GPUs on nodes of {per_node}: only its first node has HTTP"
        fix = "Set parallelism.loadBalancing: internal."
    elif kind == "external" and layout.engine < per_node:
        reason = f"a node of {per_node} GPUs holds several engines of {layout.engine}: its one port serves one engine"
        fix = "Set parallelism.loadBalancing: hybrid."
    else:
        return
    yield Finding(
        "PAR012",
        "parallelism.loadBalancing",
        f"parallelism.loadBalancing is {kind}, but {reason}",
        fix,
        {"parallelism.data": layout.data, "group.nodes": group.nodes},
    )


def device(release: Release) -> Iterator[Finding]:
    """Ask for a hook where pipeline parallelism has to be added to the engine, and warn that it rests on the hook."""
    layout, resource = release.layout, release.group.resource
    facts = release.engine.facts.devices.get(resource)
    if facts is None or not facts.pipeline_needs_patch or layout.pipeline == 1:
        return
    seen: dict[str, Value] = {"parallelism.pipeline": layout.pipeline, "group.resourceName": resource}
    if release.hooks:
        yield Finding(
            "PAR015",
            "hooks.preLaunch",
            f"pipeline {layout.pipeline} on {resource} rests on what hooks.preLaunch does to the engine",
            "See that it fails when the engine is not the one it was written for.",
            seen,
        )
    else:
        yield Finding(
            "PAR014",
            "parallelism.pipeline",
            f"parallelism.pipeline is {layout.pipeline}, but vLLM on {resource} has no pipeline parallelism of its own",
            "Set hooks.preLaunch to a command that adds it to the engine and fails when it cannot, or "
            f"parallelism.tensor: {layout.ranks}.",
            seen,
        )
