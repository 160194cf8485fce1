"""What would make a model fit: each proposal is worked out before it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep.memory.cache import FP8
from lockstep.memory.engines import ENGINES
from lockstep.memory.fit import Fit, Plan, Verdict, fit
from lockstep.memory.units import gib

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["remedies"]

MAX_STAGES = 64
SHORTEST = 1024


def remedies(found: Fit) -> tuple[str, ...]:
    """Propose changes, cheapest first, each of which alone makes the plan fit.

    Parameters
    ----------
    found
        A plan that is tight or does not fit.

    Returns
    -------
    tuple of str
        Half sentences that name a flag or key and its value; empty when none of them alone is enough.
    """
    return tuple(proposals(found.plan))


def proposals(plan: Plan) -> Iterator[str]:
    """Yield what works."""
    names = ENGINES[plan.layout.engine]
    if names.cache and plan.number != FP8 and good(replace(plan, number=FP8)):
        yield f"{names.cache}: fp8 halves the cache"
    length = longest(plan)
    if length:
        yield f"{names.length}: {length} is the longest that fits"
    stages = more_stages(plan)
    if stages:
        larger = with_stages(plan, stages)
        weights = gib(fit(larger).worst.weights)
        yield f"parallelism.pipeline: {stages} over {larger.layout.gpus} GPUs leaves {weights} of weights on each"


def good(plan: Plan) -> bool:
    """Say whether a plan fits without being tight."""
    return fit(plan).verdict is Verdict.FITS


def longest(plan: Plan) -> int:
    """Return the longest sequence that fits, in whole KiB tokens; 0 when not even a short one does."""
    if not good(replace(plan, length=SHORTEST)):
        return 0
    low, high = 1, plan.length // SHORTEST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if good(replace(plan, length=middle * SHORTEST)) else (low, middle - 1)
    return low * SHORTEST if low * SHORTEST < plan.length else 0


def more_stages(plan: Plan) -> int:
    """Return the fewest pipeline stages that fit, 0 when none do."""
    layers = len(plan.model.layers)
    candidates = range(plan.layout.pipeline + 1, min(layers, MAX_STAGES) + 1)
    return next((stages for stages in candidates if good(with_stages(plan, stages))), 0)


def with_stages(plan: Plan, stages: int) -> Plan:
    """Return the plan with another pipeline size and the engine's own split."""
    return replace(plan, layout=replace(plan.layout, pipeline=stages), stages=None)
