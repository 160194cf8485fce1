"""Proves where ranks are and what one token sends between nodes."""

from __future__ import annotations

import pytest

from lockstep.memory.layout import Layout
from lockstep.model.facts import find_model
from lockstep.plan.placement import Gpu, place
from lockstep.plan.traffic import traffic


def test_stage_fills_a_node_when_it_is_as_large() -> None:
    """Tensor 8 x pipeline 2 on nodes of eight: a stage a node."""
    nodes = place(Layout("vllm", 8, 2), 8)

    assert [(0,), (1,)] == [node.stages for node in nodes]
    assert Gpu(rank=15, stage=1, tensor=7, data=0) == nodes[1].gpus[7]


def test_small_stages_share_a_node() -> None:
    """Tensor 4 x pipeline 4 on nodes of eight: two stages a node."""
    assert [(0, 1), (2, 3)] == [node.stages for node in place(Layout("vllm", 4, 4), 8)]


def test_data_parallel_ranks_come_last() -> None:
    """The second data rank begins after all stages of the first."""
    (node,) = place(Layout("vllm", 2, 2, data=2), 8)

    assert [0, 0, 0, 0, 1, 1, 1, 1] == [gpu.data for gpu in node.gpus]
    assert [0, 0, 1, 1, 0, 0, 1, 1] == [gpu.stage for gpu in node.gpus]


HIDDEN = 7168 * 2
LAYERS = 61
SPARSE = 58
LINKS = {
    "one node": (Layout("vllm", 8), 0, 0, 0, 0),
    "stage a node": (Layout("vllm", 8, 2), 2, 0, 0, 1),
    "two stages a node": (Layout("vllm", 4, 4), 2, 0, 0, 1),
    "four nodes of one stage": (Layout("vllm", 8, 4), 3 * 2, 0, 0, 3),
    "tensor over two nodes": (Layout("vllm", 16), 0, (2 * LAYERS + 1) * 2 * 2 * 15 / 16, 0, 2 * LAYERS + 1),
    "data rank a node": (Layout("vllm", 8, data=2), 0, 0, SPARSE * 2 * 2 * 15 / 16, 2 * SPARSE),
    "data ranks of one node": (Layout("vllm", 1, data=8), 0, 0, 0, 0),
}


@pytest.mark.parametrize(("layout", "pipeline", "tensor", "expert", "steps"), LINKS.values(), ids=LINKS)
def test_bytes_between_nodes(layout: Layout, pipeline: float, tensor: float, expert: float, steps: int) -> None:
    """A stage hands over two vectors; an all-reduce or an exchange for experts crosses every link of its ring."""
    model = find_model("deepseek-ai/DeepSeek-R1")
    assert model is not None

    found = traffic(model, layout, place(layout, 8))

    assert [pipeline, tensor, expert] == pytest.approx(
        [x / HIDDEN for x in (found.pipeline, found.tensor, found.expert)]
    )
    assert steps == found.steps
