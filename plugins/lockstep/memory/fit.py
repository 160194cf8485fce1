"""Whether a model fits a layout on an accelerator, stage by stage, and how much room is left."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lockstep.memory.budget import Knob, pool
from lockstep.memory.cache import BF16, sequence_bytes, token_bytes
from lockstep.memory.layout import Layout, partition
from lockstep.memory.overhead import Overhead, estimate
from lockstep.memory.weights import checkpoint_bytes, outer_bytes, stage_bytes

if TYPE_CHECKING:
    from lockstep.memory.accelerators import Accelerator
    from lockstep.model.shape import Layer, ModelShape

__all__ = ["Fit", "Plan", "StageFit", "Verdict", "fit"]

# Share of the accelerator that the estimate may be wrong by: within it the verdict is "tight".
MARGIN = 0.03


class Verdict(str, Enum):
    """What is said of a stage or a group."""

    FITS = "fits"
    TIGHT = "tight"
    FAILS = "does not fit"


@dataclass(frozen=True)
class Plan:
    """What is asked of the memory.

    Parameters
    ----------
    model
        The model.
    layout
        How the group is cut.
    accelerator
        What each rank runs on.
    knob
        The engine's memory setting.
    length
        Longest sequence, in tokens.
    number
        Bytes of one number of the cache.
    batch_tokens
        Tokens of the largest step.
    sequences
        Sequences of the largest step.
    eager
        No CUDA graphs.
    draft
        Layers for multi-token prediction are loaded, on the last stage.
    stages
        Layers of each stage when the user sets them (``VLLM_PP_LAYER_PARTITION``); None for the engine's own split.
    """

    model: ModelShape
    layout: Layout
    accelerator: Accelerator
    knob: Knob
    length: int
    number: float = BF16
    batch_tokens: int = 8192
    sequences: int = 1024
    eager: bool = False
    draft: bool = False
    stages: tuple[int, ...] | None = None


@dataclass(frozen=True)
class StageFit:
    """One GPU of one pipeline stage; all GPUs of a stage are alike.

    Parameters
    ----------
    stage
        Number of the stage, from 0.
    first, count
        Its first decoder layer, and how many it has.
    weights
        Bytes of weights.
    overhead
        Everything beside weights and cache.
    sequence
        Bytes of cache for one sequence of full length.
    token
        Bytes of cache for one more token.
    pool
        Bytes left for the cache by the estimate.
    most
        Bytes left for the cache at the very best.
    verdict
        What follows.
    """

    stage: int
    first: int
    count: int
    weights: float
    overhead: Overhead
    sequence: float
    token: float
    pool: float
    most: float
    verdict: Verdict


@dataclass(frozen=True)
class Fit:
    """A whole group.

    Parameters
    ----------
    plan
        What was asked.
    stages
        One entry for each pipeline stage.
    """

    plan: Plan
    stages: tuple[StageFit, ...]

    @property
    def worst(self) -> StageFit:
        """The stage with the least room beyond one full sequence."""
        return min(self.stages, key=lambda stage: stage.pool - stage.sequence)

    @property
    def verdict(self) -> Verdict:
        """The worst of the stages."""
        order = (Verdict.FITS, Verdict.TIGHT, Verdict.FAILS)
        return max((stage.verdict for stage in self.stages), key=order.index)

    @property
    def full_sequences(self) -> float:
        """Sequences of full length that the cache of the group holds at once.

        All ranks of a pipeline hold the cache of the same sequences, so the smallest stage counts; data-parallel
        ranks hold different ones.
        """
        least = min((max(s.pool, 0.0) / s.sequence for s in self.stages if s.sequence), default=0.0)
        return least * self.plan.layout.data

    @property
    def tokens(self) -> int:
        """Tokens of full-length sequences that the cache of the group holds."""
        return int(self.full_sequences * self.plan.length)


def fit(plan: Plan) -> Fit:
    """Work out every term for every stage.

    Parameters
    ----------
    plan
        What is asked.

    Returns
    -------
    Fit
        Terms and verdicts.
    """
    model, layout = plan.model, plan.layout
    counts = plan.stages or partition(len(model.layers), layout.pipeline, layout.engine)
    beside = estimate(model, layout, plan.batch_tokens, plan.sequences, eager=plan.eager)
    # The size of the checkpoint, when known, corrects the arithmetic in proportion.
    correction = model.checkpoint / checkpoint_bytes(model) if model.checkpoint else 1.0
    fits, start = [], 0
    for stage, count in enumerate(counts):
        layers = model.layers[start : start + count]
        last = stage == len(counts) - 1
        if last and plan.draft:
            layers = (*layers, *model.draft)
        outer = outer_bytes(model, layout, first=stage == 0, last=last)
        weights = (stage_bytes(model, layers, layout) + outer) * correction
        fits.append(stage_fit(plan, stage, (start, count), layers, weights, beside))
        start += count
    return Fit(plan, tuple(fits))


def stage_fit(
    plan: Plan, stage: int, span: tuple[int, int], layers: tuple[Layer, ...], weights: float, beside: Overhead
) -> StageFit:
    """Work out one stage."""
    memory = plan.accelerator.memory
    sequence = sequence_bytes(layers, plan.length, plan.layout, plan.number, plan.batch_tokens)
    left = pool(plan.knob, memory, weights, beside.total if plan.knob.graphs else beside.total - beside.graphs)
    most = pool(plan.knob, memory, weights, beside.least)
    # vLLM does not start unless one sequence of full length fits; the others start and refuse long requests.
    if most < (sequence if plan.layout.engine == "vllm" else 0):
        verdict = Verdict.FAILS
    elif left - sequence < MARGIN * memory:
        verdict = Verdict.TIGHT
    else:
        verdict = Verdict.FITS
    token = token_bytes(layers, plan.layout, plan.number)
    return StageFit(stage, span[0], span[1], weights, beside, sequence, token, left, most, verdict)
