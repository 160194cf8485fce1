"""Proves verdicts, the worst stage, capacity, and that each remedy is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.memory.accelerators import Accelerator, find_accelerator
from lockstep.memory.budget import Knob
from lockstep.memory.fit import Plan, Verdict, fit
from lockstep.memory.layout import Layout
from lockstep.memory.remedy import remedies
from lockstep.memory.weights import checkpoint_bytes, stage_bytes
from lockstep.model.facts import find_model
from tests.lockstep.memory.shapes import tiny


def plan(
    name: str, accelerator: str, tensor: int, pipeline: int = 1, length: int = 32768, engine: str = "vllm"
) -> Plan:
    """Return a plan for a model and an accelerator that Lockstep knows."""
    model, device = find_model(name), find_accelerator(accelerator)
    assert model is not None
    assert device is not None
    layout, knob = Layout(engine, tensor, pipeline), Knob(engine, 0.9)
    batch = {"batch_tokens": device.batch_tokens, "sequences": device.sequences}
    return Plan(model, layout, device, knob, length, **batch)


KNOWN = {
    "R1 on two nodes of H100": (plan("deepseek-ai/DeepSeek-R1", "h100-80gb", 8, 2), Verdict.FITS),
    "R1 on one node of H200": (plan("deepseek-ai/DeepSeek-R1", "h200", 8), Verdict.FITS),
    "R1 on one node of H100": (plan("deepseek-ai/DeepSeek-R1", "h100-80gb", 8), Verdict.FAILS),
    "405B in bfloat16 on two nodes of H100": (
        plan("meta-llama/Llama-3.1-405B-Instruct", "h100-80gb", 8, 2),
        Verdict.FITS,
    ),
    "405B in bfloat16 on one node of H100": (
        plan("meta-llama/Llama-3.1-405B-Instruct", "h100-80gb", 8),
        Verdict.FAILS,
    ),
    "K2 on one node of H200": (plan("moonshotai/Kimi-K2-Instruct", "h200", 8, length=131072), Verdict.FAILS),
    "K2 on two nodes of H200": (plan("moonshotai/Kimi-K2-Instruct", "h200", 8, 2), Verdict.FITS),
    "70B on two H100": (plan("meta-llama/Llama-3.3-70B-Instruct", "h100-80gb", 2, length=16384), Verdict.TIGHT),
    "Scout with its ten million tokens": (
        plan("meta-llama/Llama-4-Scout-17B-16E-Instruct", "h100-80gb", 8, length=10485760),
        Verdict.FAILS,
    ),
    "8B on an L4": (plan("Qwen/Qwen3-8B", "l4", 1, length=16384), Verdict.FITS),
}


@pytest.mark.parametrize(("asked", "verdict"), KNOWN.values(), ids=KNOWN)
def test_verdict(asked: Plan, verdict: Verdict) -> None:
    """Layouts that people run, and some that they tried."""
    assert verdict is fit(asked).verdict


@pytest.mark.parametrize("asked", [asked for asked, verdict in KNOWN.values() if verdict is Verdict.FAILS])
def test_every_failure_has_a_remedy(asked: Plan) -> None:
    """What does not fit is never left without a way out."""
    assert remedies(fit(asked))


def test_remedy_for_the_length_is_exact() -> None:
    """The length that is proposed fits, and 1024 tokens more do not."""
    asked = plan("Qwen/Qwen3-8B", "l4", 1, length=40960)
    text = next(way for way in remedies(fit(asked)) if "max-model-len" in way)
    length = int(text.split()[1])

    assert Verdict.FITS is fit(replace(asked, length=length)).verdict
    assert Verdict.FITS is not fit(replace(asked, length=length + 1024)).verdict


def test_other_engines_start_with_a_small_cache() -> None:
    """A sequence that does not fit stops vLLM only."""
    verdicts = [
        fit(plan("meta-llama/Llama-3.3-70B-Instruct", "h100-80gb", 2, length=131072, engine=engine)).verdict
        for engine in ("vllm", "trtllm")
    ]

    assert [Verdict.FAILS, Verdict.TIGHT] == verdicts


def small(**changes: object) -> Plan:
    """Return a plan for a model that fills a hundredth of its GPU."""
    device = Accelerator("small", 1 << 34, 8, 2048, 256, ())
    return replace(Plan(tiny(), Layout("vllm", 1), device, Knob("vllm", 0.9), 4096), **changes)  # type: ignore[arg-type]


def test_last_stage_can_be_the_worst() -> None:
    """DeepSeek's first layers are dense and light, so the last stage is the fullest though it has a layer less."""
    found = fit(plan("deepseek-ai/DeepSeek-R1", "h100-80gb", 8, 2))

    assert [31, 30] == [stage.count for stage in found.stages]
    assert 1 == found.worst.stage


def test_data_parallel_ranks_hold_different_sequences() -> None:
    """Twice the ranks, twice the sequences."""
    one, two = (fit(small(layout=Layout("vllm", 1, data=ranks))).full_sequences for ranks in (1, 2))

    assert pytest.approx(2 * one, rel=0.1) == two


def test_size_of_the_checkpoint_wins() -> None:
    """An index that says twice the bytes doubles the weights."""
    model = tiny(checkpoint=int(2 * checkpoint_bytes(tiny())))

    assert pytest.approx(2 * fit(small()).worst.weights) == fit(small(model=model)).worst.weights


def test_draft_layers_weigh_on_the_last_stage() -> None:
    """Multi-token prediction is loaded only when it is asked for."""
    model = replace(tiny(), draft=tiny().layers[:1])
    without, with_draft = (fit(small(model=model, draft=draft)).worst.weights for draft in (False, True))

    assert pytest.approx(without + stage_bytes(model, model.draft, Layout("vllm", 1))) == with_draft
