"""Memory: whether weights, cache and all else fit the accelerator that the values name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.memory.engines import ENGINES
from lockstep.memory.fit import Verdict, fit
from lockstep.memory.remedy import remedies
from lockstep.memory.settings import accelerator_of, plan_of, stages_of
from lockstep.memory.units import gib
from lockstep.model.config import ConfigError
from lockstep.model.source import model_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.memory.fit import Fit
    from lockstep.model.shape import ModelShape
    from lockstep.release import Release


def room(release: Release) -> Iterator[Finding]:
    """Refuse what cannot fit, and warn of what hardly does."""
    model, accelerator = shape_of(release), accelerator_of(release)
    if model is None or accelerator is None or release.layout.ranks != release.group.gpus:
        return
    stages = stages_of(release)
    if release.layout.pipeline > len(model.layers) or (stages is not None and not usable(stages, release, model)):
        return
    plan = plan_of(release, model, accelerator)
    if plan is None:
        return
    found = fit(plan)
    if found.verdict is Verdict.FITS:
        return
    failed = found.verdict is Verdict.FAILS
    ways = remedies(found)
    length = f"engine.args.{ENGINES[release.engine.name].length}"
    yield Finding(
        "MEM001" if failed else "MEM002",
        "group" if failed else length,
        terms(release, found),
        f"One of these is enough: {'; '.join(ways)}." if ways else "Use more GPUs, larger ones, or smaller weights.",
        {length: plan.length, "full sequences": round(found.full_sequences, 2)},
    )


def shape_of(release: Release) -> ModelShape | None:
    """Return the model's shape; what is wrong with a config is said elsewhere."""
    try:
        return model_of(release)
    except ConfigError:
        return None


def usable(stages: tuple[int, ...], release: Release, model: ModelShape) -> bool:
    """Say whether a partition by hand covers the model."""
    return len(stages) == release.layout.pipeline and sum(stages) == len(model.layers)


def terms(release: Release, found: Fit) -> str:
    """Say the numbers of the fullest stage."""
    plan, stage, device = found.plan, found.worst, found.plan.accelerator
    where = f" of stage {stage.stage}" if len(found.stages) > 1 else ""
    verdict = "does not fit" if found.verdict is Verdict.FAILS else "hardly fits"
    setting = f"{ENGINES[release.engine.name].fraction} {plan.knob.fraction:g}"
    return (
        f"{release.model.id} {verdict}: each GPU{where} "
        f"needs {gib(stage.weights)} for weights, about {gib(stage.overhead.total)} for activations, graphs and NCCL, "
        f"and {gib(stage.sequence)} of cache for one sequence of {plan.length} tokens; "
        f"{setting} of {device.name} ({gib(device.memory)}) leaves {gib(max(stage.pool, 0))} for the cache"
    )
