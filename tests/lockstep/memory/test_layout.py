"""Proves how layers are dealt to pipeline stages, and who shares what."""

from __future__ import annotations

import pytest

from lockstep.memory.layout import Layout, partition


@pytest.mark.parametrize(
    ("layers", "stages", "engine", "dealt"),
    [
        (80, 2, "vllm", (40, 40)),
        (61, 2, "vllm", (31, 30)),
        (62, 4, "vllm", (15, 16, 16, 15)),
        (7, 4, "vllm", (2, 2, 2, 1)),
        (4, 5, "vllm", (1, 1, 1, 1, 0)),
        (62, 4, "trtllm", (16, 16, 15, 15)),
        (61, 1, "sglang", (61,)),
    ],
)
def test_layers_are_dealt_as_the_engine_does(layers: int, stages: int, engine: str, dealt: tuple[int, ...]) -> None:
    """The last stage gets no extra layer from vLLM, the first ones do from TensorRT-LLM."""
    assert dealt == partition(layers, stages, engine)


def test_data_parallel_ranks_are_more_gpus_but_for_sglang() -> None:
    """SGLang's attention data parallel uses the tensor ranks again."""
    assert [16, 8] == [Layout(engine, 8, data=2).gpus for engine in ("vllm", "sglang")]


def test_experts_are_shared_by_all_ranks_of_a_stage() -> None:
    """Tensor and data ranks are one set for the experts of vLLM."""
    assert [16, 8] == [Layout(engine, 8, data=2).expert_ranks for engine in ("vllm", "sglang")]
