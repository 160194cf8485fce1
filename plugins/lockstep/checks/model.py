"""The model's shape: heads, widths, layers and blocks against the split that the values ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.memory.flags import Flags
from lockstep.memory.settings import layout_of, stages_of
from lockstep.model.config import ConfigError, UnknownShape
from lockstep.model.rules import tensor_sizes, violations
from lockstep.model.source import model_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.memory.layout import Layout
    from lockstep.model.rules import Violation
    from lockstep.model.shape import ModelShape
    from lockstep.release import Release

CODES: Final = {
    "heads": "PAR002",
    "state_heads": "PAR002",
    "vision": "PAR002",
    "kv_heads": "PAR003",
    "stages": "PAR004",
    "widths": "PAR005",
    "vocabulary": "PAR005",
    "blocks": "PAR006",
    "expert_flags": "PAR007",
    "expert_balancing": "PAR007",
    "decode_context": "PAR008",
}


def shape(release: Release) -> Iterator[Finding]:
    """Refuse a split that the engine refuses once it has read the model's config."""
    flags = Flags(release.engine.args)
    try:
        model = model_of(release)
    except UnknownShape as error:
        yield unknown(release, f"{error}: its shape and its memory were not checked")
        return
    except ConfigError as error:
        yield Finding(
            "PAR021",
            "model.config",
            f"model.config cannot be used: {error}",
            "Copy config.json from the model's repository as it is, and name its path relative to this values file.",
            {"model.config": release.model.config},
        )
        return
    if model is None:
        reason = f"{release.model.id} is not one of the models that Lockstep knows"
        yield unknown(release, f"{reason}: its shape and its memory were not checked")
    elif "hf-overrides" not in flags and release.layout.ranks == release.group.gpus and release.layout.even:
        # A split that is wrong for any model is judged by that alone: it will change anyway.
        yield from against(release, model)


def unknown(release: Release, reason: str) -> Finding:
    """Say that nothing was checked."""
    return Finding(
        "PAR020",
        "model.config" if release.model.config else "model.id",
        reason,
        "Set model.config to the path of the model's config.json, or check heads, layers and memory by hand."
        if release.model.config is None
        else "Check heads, layers and memory by hand.",
        {"model.id": release.model.id},
    )


def against(release: Release, model: ModelShape) -> Iterator[Finding]:
    """Yield what the model's shape says of the split."""
    flags = Flags(release.engine.args)
    layout = layout_of(release)
    if model.quantization and not model.quantization.known:
        yield unknown(release, f"quantisation {model.quantization.method} is not known: the memory was not checked")
    whole = flags.text("mm-encoder-tp-mode") == "data" or flags.on("language-model-only")
    for violation in violations(model, layout, whole_vision=whole):
        yield Finding(
            CODES[violation.rule],
            violation.path,
            f"{release.model.id}: {violation.message}",
            fix(violation, model, layout, whole_vision=whole),
            {"parallelism.tensor": layout.tensor, "parallelism.pipeline": layout.pipeline},
        )
    if release.layout.balancing == "external" and not model.experts:
        yield Finding(
            "PAR016",
            "parallelism.loadBalancing",
            f"parallelism.loadBalancing is external, but {release.model.id} has no experts: its engines are replicas",
            f"Set replicas: {release.layout.data} of groups without parallelism.data.",
            {"parallelism.data": release.layout.data},
        )
    stages = stages_of(release)
    if stages is not None and (len(stages) != layout.pipeline or sum(stages) != len(model.layers)):
        yield Finding(
            "PAR004",
            "engine.env.VLLM_PP_LAYER_PARTITION",
            f"VLLM_PP_LAYER_PARTITION names {len(stages)} stages with {sum(stages)} layers; "
            f"there are {layout.pipeline} stages and {len(model.layers)} layers",
            f"Give {layout.pipeline} numbers that add up to {len(model.layers)}, or leave the variable out.",
        )


def fix(violation: Violation, model: ModelShape, layout: Layout, *, whole_vision: bool) -> str:
    """Say which change mends a violation."""
    if violation.rule == "stages":
        return f"Set parallelism.pipeline to at most {len(model.layers)}."
    if violation.rule == "expert_flags":
        return "Remove parallelism.expert."
    if violation.rule == "expert_balancing":
        experts = model.experts.count if model.experts else 0
        return f"Set num_redundant_experts in eplb-config to {-experts % layout.expert_ranks}, or remove enable-eplb."
    if violation.rule == "decode_context":
        return "Set decode-context-parallel-size to 1, or raise parallelism.tensor."
    sizes = tensor_sizes(model, layout, whole_vision=whole_vision)
    listed = ", ".join(map(str, sizes))
    split = next(((t, layout.gpus // t) for t in reversed(sizes) if layout.gpus % t == 0 and t < layout.tensor), None)
    text = f"Set parallelism.tensor to one of {listed}" if sizes else "No tensor size up to 64 works"
    if split and split[1] <= len(model.layers):
        text += f"; these {layout.gpus} GPUs are for instance tensor: {split[0]}, pipeline: {split[1]}"
    dealt = replace(layout, expert_parallel=True)
    if model.experts and not violations(model, dealt, whole_vision=whole_vision):
        text += "; or set parallelism.expert: all, which deals experts whole"
    if violation.rule == "vision":
        text += "; or set engine.args.mm-encoder-tp-mode: data"
    return text + "."
