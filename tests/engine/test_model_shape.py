"""Proves that the shape rules refuse exactly the layouts that vLLM's own code refuses.

vLLM is asked twice for each layout: its configuration step, and the constructors of the layers of one rank. The
configuration step alone takes much that the constructors refuse after all nodes are up (KV heads, widths, the
vocabulary, blocks of scales). More stages than layers are taken by both; that rule is Lockstep's own.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lockstep.memory.layout import Layout
from lockstep.model.config import read_config
from lockstep.model.facts import configs
from lockstep.model.rules import violations
from lockstep.model.shape import Attention, Experts, Part, Split

from .conftest import ON_CPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.model.rules import Violation
    from lockstep.model.shape import Matrix, ModelShape
    from lockstep.rehearse.real_engine import RealEngine

# The type that transformers knows each architecture by.
MODELS = {
    "meta-llama/Llama-3.1-8B-Instruct": "llama",
    "mistralai/Mixtral-8x22B-v0.1": "mixtral",
    "Qwen/Qwen3-32B-FP8": "qwen3",
    "Qwen/Qwen3-235B-A22B-FP8": "qwen3_moe",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": "qwen3_moe",
    "deepseek-ai/DeepSeek-R1": "deepseek_v3",
    "zai-org/GLM-4.5": "glm4_moe",
    "MiniMaxAI/MiniMax-M2.5": "minimax_m2",
}
TENSOR = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
Case = dict[str, object]


@dataclass(frozen=True)
class Answer:
    """What vLLM says of a layout, None when it takes it, and the rules that Lockstep finds broken."""

    layout: Layout
    said: str | None
    found: tuple[Violation, ...]


@pytest.fixture(scope="module")
def answers(real_engine: RealEngine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Answer]]:
    """Ask vLLM of every model and layout at once: it takes long to import."""
    layouts = [
        Layout("vllm", tensor, expert_parallel=experts, decode_context=context)
        for tensor in TENSOR
        for experts in (False, True)
        for context in (1, 2)
    ]
    shapes, cut, cases = {}, {}, []
    for name, kind in MODELS.items():
        folder = tmp_path_factory.mktemp("model")
        config = {**configs()[name.lower()], "model_type": kind}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        shapes[name] = shape = read_config(config, name)
        cut[name] = layouts + [Layout("vllm", 4, stages) for stages in (2, 3, len(shape.layers), len(shape.layers) + 1)]
        cases += [case(shape, layout, folder) for layout in cut[name]]
    said = iter(ask(real_engine, cases))
    return {
        name: [Answer(layout, next(said), violations(shape, layout)) for layout in cut[name]]
        for name, shape in shapes.items()
    }


@pytest.mark.engine
@pytest.mark.parametrize("name", MODELS)
def test_vllm_takes_what_the_rules_take(answers: dict[str, list[Answer]], name: str) -> None:
    """Every tensor size, with and without expert parallel and decode context parallel, and some numbers of stages."""
    found = answers[name]
    known = [answer for answer in found if {rule.rule for rule in answer.found} != {"stages"}]

    assert [] == [answer for answer in known if bool(answer.said) != bool(answer.found)]
    assert {True, False} == {bool(answer.said) for answer in found}


@pytest.mark.engine
@pytest.mark.parametrize("name", MODELS)
def test_vllm_takes_more_stages_than_layers(answers: dict[str, list[Answer]], name: str) -> None:
    """What it then starts has stages that hold nothing; here Lockstep says more than vLLM."""
    ours = [answer for answer in answers[name] if {rule.rule for rule in answer.found} == {"stages"}]

    assert 1 == len(ours)
    assert {None} == {answer.said for answer in ours}


def ask(engine: RealEngine, cases: list[Case]) -> list[str | None]:
    """Return what vLLM says of each case."""
    done = subprocess.run(
        [str(engine.bin / "python"), str(Path(__file__).with_name("ask_vllm.py"))],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ON_CPU, "VLLM_LOGGING_LEVEL": "ERROR"},
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[str | None] = json.loads(done.stdout.splitlines()[-1])
    return answers


def case(shape: ModelShape, layout: Layout, folder: Path) -> Case:
    """Return what vLLM is asked of one layout."""
    return {
        "folder": str(folder),
        "tensor": layout.tensor,
        "pipeline": layout.pipeline,
        "experts": layout.expert_parallel,
        "decode_context": layout.decode_context,
        "parts": list(parts(shape, layout)),
    }


def parts(shape: ModelShape, layout: Layout) -> Iterator[Case]:
    """Yield the layers that vLLM would build, each kind once."""
    yield {"kind": "vocabulary", "sizes": [shape.vocab, shape.hidden], "block": None}
    for layer in shape.kinds:
        if isinstance(layer.mixer, Attention):
            mixer = layer.mixer
            sizes = [shape.hidden, mixer.head_dim, mixer.heads, mixer.kv_heads]
            yield {"kind": "qkv", "sizes": sizes, "block": block(shape, Part.ATTENTION)}
        whole = isinstance(layer.block, Experts) and layout.expert_parallel
        for matrix in layer.matrices(shape.hidden):
            if not (whole and matrix.part is Part.EXPERT):
                yield from part(shape, matrix, grouped=isinstance(layer.mixer, Attention))


def part(shape: ModelShape, matrix: Matrix, *, grouped: bool) -> Iterator[Case]:
    """Yield the layer that holds a matrix; queries, keys and values of grouped attention are one layer."""
    if matrix.part is Part.EXPERT:
        if matrix.split is Split.ROW:
            yield {"kind": "expert", "sizes": [matrix.columns], "block": block(shape, matrix.part)}
    elif matrix.split is Split.ROW:
        yield {"kind": "row", "sizes": [matrix.columns, matrix.rows], "block": block(shape, matrix.part)}
    elif matrix.split is Split.COLUMN and not (grouped and matrix.part is Part.ATTENTION):
        yield {"kind": "column", "sizes": [matrix.columns, matrix.rows], "block": block(shape, matrix.part)}


def block(shape: ModelShape, part: Part) -> list[int] | None:
    """Return the block of a part's scales."""
    stored = shape.quantization.of(part) if shape.quantization else None
    return list(stored.block) if stored and stored.block else None
