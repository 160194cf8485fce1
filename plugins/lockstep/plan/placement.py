"""Which rank runs on which GPU, and which layers it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep.memory.layout import Layout

__all__ = ["Gpu", "Node", "place"]


@dataclass(frozen=True)
class Gpu:
    """One GPU.

    Parameters
    ----------
    rank
        Global rank.
    stage
        Pipeline stage, from 0.
    tensor
        Rank among those that share the stage's layers.
    data
        Data-parallel rank.
    """

    rank: int
    stage: int
    tensor: int
    data: int


@dataclass(frozen=True)
class Node:
    """One node and its GPUs in order."""

    index: int
    gpus: tuple[Gpu, ...]

    @property
    def stages(self) -> tuple[int, ...]:
        """The stages that have a rank here, ascending."""
        return tuple(sorted({gpu.stage for gpu in self.gpus}))


def place(layout: Layout, per_node: int) -> tuple[Node, ...]:
    """Deal ranks to nodes.

    Parameters
    ----------
    layout
        Parallel factors.
    per_node
        GPUs of a node.

    Returns
    -------
    tuple of Node
        As many as the ranks fill.

    Notes
    -----
    vLLM ``distributed/parallel_state.py`` initialize_model_parallel lays ranks out as data x pipeline x tensor, the
    last varying fastest, and ``v1/executor/multiproc_executor.py`` gives node n the ranks from n x per_node on.
    """
    within = layout.tensor * layout.context
    gpus = [
        Gpu(rank, rank // within % layout.pipeline, rank % within, rank // (within * layout.pipeline))
        for rank in range(layout.gpus)
    ]
    return tuple(Node(n, tuple(gpus[i : i + per_node])) for n, i in enumerate(range(0, len(gpus), per_node)))
