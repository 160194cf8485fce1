"""Bytes that cross from node to node for one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.model.shape import Experts

if TYPE_CHECKING:
    from lockstep.memory.layout import Layout
    from lockstep.model.shape import ModelShape
    from lockstep.plan.placement import Node

__all__ = ["Traffic", "traffic"]

# Activations travel in two bytes whatever the weights are stored in.
NUMBER = 2


@dataclass(frozen=True)
class Traffic:
    """What one token of one sequence sends over the network between nodes.

    Parameters
    ----------
    pipeline
        Bytes handed from stage to stage, summed over the boundaries that lie between nodes.
    tensor
        Bytes of all-reduces, summed over the links between nodes.
    expert
        Bytes that data-parallel ranks exchange for their experts, summed over the links between nodes.
    steps
        Times that the token waits for the network.
    """

    pipeline: float
    tensor: float
    expert: float
    steps: int

    @property
    def total(self) -> float:
        """Bytes of all kinds."""
        return self.pipeline + self.tensor + self.expert


def traffic(model: ModelShape, layout: Layout, nodes: tuple[Node, ...]) -> Traffic:
    """Work out what one token sends between nodes.

    Parameters
    ----------
    model
        The model.
    layout
        How it is cut.
    nodes
        Where the ranks are.

    Returns
    -------
    Traffic
        Bytes and waits; of one data-parallel rank.

    Notes
    -----
    Pipeline: hidden states and residual go to the next stage, each tensor rank sending its part (vLLM
    ``distributed/parallel_state.py`` send_tensor_dict). Tensor: one all-reduce for each mixer, each block and the
    embedding (``layers/linear.py`` RowParallelLinear). Experts of several data-parallel ranks: one all-gather and one
    reduce-scatter for each layer that has them (vLLM's default ``all2all_backend`` allgather_reducescatter). In a ring
    of n ranks over k nodes, k links carry 2 (n - 1) / n times the message (NCCL tests, PERFORMANCE.md).
    """
    home = {(gpu.data, gpu.stage, gpu.tensor): node.index for node in nodes for gpu in node.gpus}
    ranks, stages = layout.tensor * layout.context, range(layout.pipeline)
    vector = float(model.hidden * NUMBER)
    crossing = sum(any(home[0, s - 1, t] != home[0, s, t] for t in range(ranks)) for s in stages[1:])
    wide = max(len({home[0, s, t] for t in range(ranks)}) for s in stages)
    reduces = sum(bool(layer.mixer) + bool(layer.block) for layer in model.layers) + 1 if wide > 1 else 0
    spread = max(len({node for (_, stage, _), node in home.items() if stage == s}) for s in stages)
    sparse = sum(isinstance(layer.block, Experts) for layer in model.layers)
    exchanges = sparse if layout.data > 1 and spread > 1 else 0
    return Traffic(
        pipeline=crossing * 2 * vector,
        tensor=reduces * ring(wide, ranks) * vector,
        expert=exchanges * ring(spread, ranks * layout.data) * vector,
        steps=crossing + reduces + 2 * exchanges,
    )


def ring(nodes: int, ranks: int) -> float:
    """Return how many times a message crosses from node to node in an all-reduce of a ring."""
    return nodes * 2 * (ranks - 1) / ranks
