"""What SGLang cannot do. The chart's part: ``templates/engine/_sglang.tpl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release


def rules(release: Release) -> Iterator[Finding]:
    """Give what SGLang refuses (``srt/arg_groups/parallel_hook.py``, ``srt/entrypoints/engine.py``)."""
    if release.engine.name != "sglang":
        return
    layout, nodes = release.layout, release.group.nodes
    if layout.tensor % layout.data:
        yield Finding(
            "PAR011",
            "parallelism.data",
            f"parallelism.data is {layout.data}, but SGLang's attention splits the parallelism.tensor {layout.tensor} "
            "ranks into data parallel groups of equal size",
            f"Set parallelism.data to a divisor of {layout.tensor}.",
            {"parallelism.data": layout.data, "parallelism.tensor": layout.tensor},
        )
    if layout.tensor % layout.expert:
        yield Finding(
            "PAR009",
            "parallelism.expert",
            f"parallelism.expert is {layout.expert}, but SGLang deals experts to equal parts of the parallelism.tensor "
            f"{layout.tensor} ranks",
            f"Set parallelism.expert: all, or a divisor of {layout.tensor}.",
            {"parallelism.expert": layout.expert, "parallelism.tensor": layout.tensor},
        )
    if max(nodes, layout.pipeline) % min(nodes, layout.pipeline):
        yield Finding(
            "PAR011",
            "parallelism.pipeline",
            f"parallelism.pipeline is {layout.pipeline} and group.nodes {nodes}, but SGLang puts whole stages on a "
            "node or a stage on whole nodes",
            f"Set parallelism.pipeline: {nodes}.",
            {"parallelism.pipeline": layout.pipeline, "group.nodes": nodes},
        )
    if ":" in release.model.served_name:
        yield Finding(
            "ENG005",
            "model.servedName",
            f"model.servedName is {release.model.served_name}, but SGLang takes no name with a colon, which parts a "
            "model from its adapter",
            "Choose another name.",
            {"model.servedName": release.model.served_name},
        )
