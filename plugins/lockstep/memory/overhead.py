"""What an engine takes beside weights and cache: an estimate with a lower bound, for nobody can know it exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.memory.units import GIB
from lockstep.model.shape import Dense, Experts

if TYPE_CHECKING:
    from lockstep.memory.layout import Layout
    from lockstep.model.shape import ModelShape

__all__ = ["Overhead", "estimate"]


@dataclass(frozen=True)
class Overhead:
    """Bytes beside weights and cache, on one GPU.

    Parameters
    ----------
    activations
        Peak of one step of the largest batch, with the sampler.
    graphs
        CUDA graphs.
    context
        CUDA context, NCCL buffers, kernels.
    least
        Lower bound of the three together.
    """

    activations: float
    graphs: float
    context: float
    least: float

    @property
    def total(self) -> float:
        """All three together."""
        return self.activations + self.graphs + self.context


def estimate(model: ModelShape, layout: Layout, batch_tokens: int, sequences: int, *, eager: bool) -> Overhead:
    """Estimate what one GPU needs beside weights and cache.

    Parameters
    ----------
    model
        The model.
    layout
        How the group is cut.
    batch_tokens
        Tokens of the largest step (vLLM ``max-num-batched-tokens``).
    sequences
        Sequences of the largest step (``max-num-seqs``).
    eager
        No CUDA graphs.

    Returns
    -------
    Overhead
        The terms.

    Notes
    -----
    vLLM measures this with a dummy step (``v1/worker/gpu_worker.py`` determine_available_memory), so it can only be
    estimated beforehand. Activations: residual and attention streams, and the widest feed-forward block, in 2-byte
    numbers (for experts, ``fused_moe.py`` keeps each token's ``active`` rows of hidden and of inner width); the
    sampler works on ``sequences x vocabulary`` in float32, about three copies. CUDA graphs and context are constants;
    the table in docs/memory.md shows how far all of it is from what engines print.
    """
    hidden = model.hidden
    streams = batch_tokens * hidden * 2 * 4
    widest = max((block_bytes(layer.block, hidden, layout) for layer in model.kinds if layer.block), default=0.0)
    sampler = sequences * model.vocab * 4 * 3
    activations = max(streams + batch_tokens * widest, sampler)
    graphs = 0.0 if eager else 0.5 * GIB
    context = (1.0 if layout.gpus == 1 else 1.6) * GIB
    return Overhead(activations, graphs, context, 0.25 * GIB)


def block_bytes(block: Dense | Experts, hidden: int, layout: Layout) -> float:
    """Return the bytes that a feed-forward block needs for one token."""
    if isinstance(block, Dense):
        return 3 * block.width / layout.tensor * 2
    ranks = 1 if layout.expert_parallel else layout.expert_ranks
    return block.active * (hidden + 3 * block.width / ranks) * 2
