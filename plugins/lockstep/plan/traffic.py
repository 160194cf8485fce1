"""Bytes that cross from node to node for one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    steps
        Times that the token waits for the network.
    """

    pipeline: float
    tensor: float
    steps: int

    @property
    def total(self) -> float:
        """Bytes of both kinds."""
        return self.pipeline + self.tensor


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
    embedding (``layers/linear.py`` RowParallelLinear); in a ring of n ranks over k nodes, k links carry
    2 (n - 1) / n times the message (NCCL tests, PERFORMANCE.md).
    """
    home = {(gpu.data, gpu.stage, gpu.tensor): node.index for node in nodes for gpu in node.gpus}
    ranks = layout.tensor * layout.context
    vector = model.hidden * NUMBER
    crossing = [s for s in range(1, layout.pipeline) if any(home[0, s - 1, t] != home[0, s, t] for t in range(ranks))]
    pipeline = 2.0 * vector * len(crossing)
    spans = [len({home[0, stage, t] for t in range(ranks)}) for stage in range(layout.pipeline)]
    wide = max(spans)
    if wide == 1:
        return Traffic(pipeline, 0.0, len(crossing))
    reduces = sum(bool(layer.mixer) + bool(layer.block) for layer in model.layers) + 1
    return Traffic(pipeline, reduces * wide * 2 * (ranks - 1) / ranks * vector, reduces + len(crossing))
