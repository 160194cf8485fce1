"""Proves the shape rules: what an engine refuses is found, what it takes is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep.memory.layout import Layout
from lockstep.model.facts import find_model
from lockstep.model.rules import tensor_sizes, violations

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape


def known(name: str) -> ModelShape:
    """Return a model that the facts have."""
    model = find_model(name)
    assert model is not None
    return model


def vllm(tensor: int, pipeline: int = 1, **factors: int) -> Layout:
    """Return a layout of vLLM; ``experts=1`` turns expert parallel on."""
    expert = bool(factors.pop("experts", 0))
    return Layout("vllm", tensor, pipeline, expert_parallel=expert, **factors)


REFUSED = {
    "heads": ("meta-llama/Llama-4-Scout-17B-16E-Instruct", vllm(16), {"heads"}),
    "KV heads": ("MiniMaxAI/MiniMax-M2.5", vllm(12), {"kv_heads"}),
    "heads of linear attention": ("Qwen/Qwen3.5-397B-A17B", vllm(32), {"state_heads", "vision"}),
    "widths": ("Qwen/Qwen3-Coder-480B-A35B-Instruct", vllm(24), {"widths", "vocabulary"}),
    "vocabulary": ("zai-org/GLM-4.5", vllm(24), {"vocabulary"}),
    "stages": ("Qwen/Qwen3-8B", vllm(1, 40), {"stages"}),
    "expert parallel without experts": ("Qwen/Qwen3-8B", vllm(2, experts=1), {"expert_flags"}),
    "copies of experts": ("deepseek-ai/DeepSeek-R1", vllm(8, experts=1, redundant=4), {"expert_balancing"}),
    "balancing of cut experts": ("deepseek-ai/DeepSeek-R1", vllm(8, redundant=0), {"expert_balancing"}),
    "blocks of experts": ("Qwen/Qwen3-235B-A22B-FP8", vllm(8), {"blocks"}),
    "blocks of dense layers": ("Qwen/Qwen3-32B-FP8", vllm(16), {"blocks"}),
    "experts over data-parallel ranks": ("Qwen/Qwen3-235B-A22B-FP8", vllm(4, data=2), {"blocks"}),
    "vision tower": ("moonshotai/Kimi-K2.5", vllm(32), {"vision"}),
    "decode context of grouped queries": ("Qwen/Qwen3-8B", vllm(8, decode_context=2), {"decode_context"}),
    "decode context that divides nothing": ("deepseek-ai/DeepSeek-R1", vllm(8, decode_context=3), {"decode_context"}),
    "SGLang attention ranks": ("meta-llama/Llama-4-Scout-17B-16E-Instruct", Layout("sglang", 16), {"heads"}),
}


@pytest.mark.parametrize(("name", "layout", "rules"), REFUSED.values(), ids=REFUSED)
def test_layout_is_refused(name: str, layout: Layout, rules: set[str]) -> None:
    """Exactly these rules are broken."""
    assert rules == {violation.rule for violation in violations(known(name), layout)}


TAKEN = {
    "tensor 8 x pipeline 2": ("deepseek-ai/DeepSeek-R1", vllm(8, 2)),
    "tensor across nodes": ("deepseek-ai/DeepSeek-R1", vllm(16)),
    "uneven pipeline": ("deepseek-ai/DeepSeek-R1", vllm(8, 3)),
    "copied KV heads": ("Qwen/Qwen3-235B-A22B", vllm(16)),
    "experts dealt whole": ("Qwen/Qwen3-235B-A22B-FP8", vllm(8, experts=1)),
    "copies that even experts out": ("Qwen/Qwen3-Coder-480B-A35B-Instruct", vllm(32, experts=1, redundant=32)),
    "experts that do not divide": ("Qwen/Qwen3-Coder-480B-A35B-Instruct", vllm(8, 3, experts=1)),
    "mxfp4 pads": ("openai/gpt-oss-120b", vllm(8)),
    "decode context of latents": ("deepseek-ai/DeepSeek-R1", vllm(8, decode_context=8)),
    "decode context of copied heads": ("Qwen/Qwen3-235B-A22B", vllm(8, decode_context=2)),
    "SGLang pads the vocabulary": ("zai-org/GLM-4.5", Layout("sglang", 24)),
    "SGLang attention data parallel": ("meta-llama/Llama-4-Scout-17B-16E-Instruct", Layout("sglang", 16, data=2)),
}


@pytest.mark.parametrize(("name", "layout"), TAKEN.values(), ids=TAKEN)
def test_layout_is_taken(name: str, layout: Layout) -> None:
    """Too strict a rule hurts, too."""
    assert () == violations(known(name), layout)


def test_vision_tower_can_be_whole_on_every_rank() -> None:
    """With the encoder in data parallel its heads do not matter."""
    assert () == violations(known("moonshotai/Kimi-K2.5"), vllm(32), whole_vision=True)


def test_message_has_the_numbers() -> None:
    """The sum is in the message."""
    (violation,) = violations(known("Qwen/Qwen3-235B-A22B-FP8"), vllm(8))

    assert "expert width 1536 / 8 ranks = 192, no multiple of the block of 128 of its fp8 scales" == violation.message


SIZES = {
    "meta-llama/Llama-3.1-8B-Instruct": (1, 2, 4, 8, 16, 32),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": (1, 2, 4, 8),
    "mistralai/Mixtral-8x22B-v0.1": (1, 2, 4, 8, 16),
    "Qwen/Qwen3-235B-A22B-FP8": (1, 2, 4),
    "deepseek-ai/DeepSeek-R1": (1, 2, 4, 8, 16),
    "MiniMaxAI/MiniMax-M2.5": (1, 2, 4),
}


@pytest.mark.parametrize(("name", "sizes"), SIZES.items(), ids=SIZES)
def test_sizes_that_work_are_listed(name: str, sizes: tuple[int, ...]) -> None:
    """The fix names every tensor size up to 64 that breaks no rule."""
    assert sizes == tensor_sizes(known(name), vllm(1))
