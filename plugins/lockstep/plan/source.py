"""Pictures of a release: its own layout, and others for comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep.checks import layout as rules
from lockstep.checks import model as model_rules
from lockstep.codes import Severity
from lockstep.errors import UsageError
from lockstep.memory.accelerators import Accelerator, accelerators, find_accelerator
from lockstep.memory.settings import accelerator_of, layout_of, plan_of, stages_of
from lockstep.model.config import ConfigError
from lockstep.model.source import model_of
from lockstep.plan.picture import Picture, draw, title

if TYPE_CHECKING:
    from lockstep.findings import Finding
    from lockstep.memory.fit import Plan
    from lockstep.memory.layout import Layout
    from lockstep.model.shape import ModelShape
    from lockstep.release import Release

__all__ = ["pictures"]


def pictures(release: Release, others: list[str], accelerator: str | None) -> tuple[Picture, ...]:
    """Return the picture of a release, and of each other layout.

    Parameters
    ----------
    release
        The release.
    others
        Layouts as ``TENSORxPIPELINE`` or ``TENSORxPIPELINExDATA``.
    accelerator
        Name of an accelerator, in place of what the node selector says.

    Returns
    -------
    tuple of Picture
        The release's own first, each layout once.

    Raises
    ------
    UsageError
        If an accelerator is not known, or a layout cannot be drawn.
    """
    device = named(accelerator) if accelerator else accelerator_of(release)
    model, notes = shape(release)
    plan = plan_of(release, model, device) if model and device else None
    if model and device is None:
        notes += (f"No memory: no node selector names an accelerator. Choose one with --accelerator: {known()}.",)
    elif model and plan is None:
        notes += ("No memory: engine.args or the quantisation change weights or cache in a way that is not known.",)
    own = layout_of(release)
    layouts = dict.fromkeys([own, *(another(own, text) for text in others)])
    return tuple(one(release, layout, model, plan, notes) for layout in layouts)


def one(
    release: Release, layout: Layout, model: ModelShape | None, plan: Plan | None, notes: tuple[str, ...]
) -> Picture:
    """Return the picture of one layout, refusing what has no picture."""
    per_node = release.group.gpus_per_node
    if layout.gpus % per_node and layout.gpus > per_node:
        raise UsageError(f"{title(layout)} = {layout.gpus} GPUs do not fill nodes of {per_node}")
    if model and layout.pipeline > len(model.layers):
        raise UsageError(
            f"pipeline {layout.pipeline} is more than the {len(model.layers)} layers of {release.model.id}"
        )
    stages = stages_of(release)
    if stages and model and sum(stages) != len(model.layers):
        raise UsageError(f"VLLM_PP_LAYER_PARTITION names {sum(stages)} layers, the model has {len(model.layers)}")
    picture = draw(release.model.id, layout, per_node, model, plan, notes)
    return replace(picture, refused=refusals(release, layout))


def refusals(release: Release, layout: Layout) -> tuple[Finding, ...]:
    """Return the errors of the layout itself; another than the release's own is given the nodes that it fills."""
    if layout != layout_of(release):
        per_node = min(layout.gpus, release.group.gpus_per_node)
        release = replace(
            release,
            group=replace(release.group, nodes=layout.gpus // per_node, gpus_per_node=per_node),
            layout=replace(release.layout, tensor=layout.tensor, pipeline=layout.pipeline, data=layout.data),
        )
    found = (finding for check in (rules.law, rules.factors, model_rules.shape) for finding in check(release))
    return tuple(finding for finding in found if finding.severity is Severity.ERROR)


def shape(release: Release) -> tuple[ModelShape | None, tuple[str, ...]]:
    """Return the model's shape, and why there is none."""
    try:
        model = model_of(release)
    except ConfigError as error:
        return None, (f"No layers, no memory: {error}.",)
    if model is None:
        return None, (f"No layers, no memory: {release.model.id} is not known; set model.config to its config.json.",)
    return model, ()


def named(name: str) -> Accelerator:
    """Return an accelerator by name."""
    found = find_accelerator(name)
    if found is None:
        raise UsageError(f"there is no accelerator {name}; known are {known()}")
    return found


def known() -> str:
    """List the accelerators."""
    return ", ".join(accelerator.name for accelerator in accelerators())


def another(own: Layout, text: str) -> Layout:
    """Return the layout that ``TENSORxPIPELINE`` or ``TENSORxPIPELINExDATA`` says, all else as it is."""
    match = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})(?:x([1-9]\d{0,3}))?", text)
    if match is None:
        raise UsageError(f"{text} is no layout; write tensor x pipeline, like 8x2, or with data parallel, like 8x1x2")
    return replace(own, tensor=int(match[1]), pipeline=int(match[2]), data=int(match[3] or 1))
