"""Proves that the models Lockstep knows by id are what their authors published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep.memory.cache import token_bytes
from lockstep.memory.layout import Layout
from lockstep.model.facts import FACTS, find_model, known_models
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape

# Parameters in billions as the model's card or name gives them, without multi-token prediction and vision tower.
PARAMETERS = {
    "meta-llama/Llama-3.1-8B-Instruct": 8.0,
    "meta-llama/Llama-3.3-70B-Instruct": 70.6,
    "meta-llama/Llama-3.1-405B-Instruct": 405.8,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 108,
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": 400,
    "mistralai/Mixtral-8x7B-v0.1": 46.7,
    "mistralai/Mixtral-8x22B-v0.1": 141,
    "Qwen/Qwen2.5-14B": 14.7,
    "Qwen/Qwen2.5-14B-Instruct": 14.7,
    "Qwen/Qwen3-8B": 8.2,
    "Qwen/Qwen3-32B": 32.8,
    "Qwen/Qwen3-30B-A3B": 30.5,
    "Qwen/Qwen3-235B-A22B": 235,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 480,
    "Qwen/Qwen3.5-397B-A17B": 397,
    "deepseek-ai/DeepSeek-R1": 671,
    "deepseek-ai/DeepSeek-V3.2": 671,
    "moonshotai/Kimi-K2-Instruct": 1026,
    "openai/gpt-oss-120b": 116.8,
    "openai/gpt-oss-20b": 20.9,
    "zai-org/GLM-4.5": 355,
    "zai-org/GLM-5": 744,
    "MiniMaxAI/MiniMax-M2.5": 229,
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8": 120,
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": 550,
}

# KiB of bfloat16 cache that one token takes in all layers of an uncut model.
CACHE = {
    "meta-llama/Llama-3.1-8B-Instruct": 128,
    "meta-llama/Llama-3.3-70B-Instruct": 320,
    "meta-llama/Llama-3.1-405B-Instruct": 504,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 192,
    "mistralai/Mixtral-8x22B-v0.1": 224,
    "Qwen/Qwen3-235B-A22B": 188,
    "deepseek-ai/DeepSeek-R1": 68.625,
    "moonshotai/Kimi-K2-Instruct": 68.625,
    "openai/gpt-oss-120b": 36,
    "zai-org/GLM-4.5": 368,
    "MiniMaxAI/MiniMax-M2.5": 248,
}


def known(name: str) -> ModelShape:
    """Return a model that the facts have."""
    model = find_model(name)
    assert model is not None
    return model


@pytest.mark.parametrize(("name", "billions"), PARAMETERS.items(), ids=PARAMETERS)
def test_parameters_are_the_published_number(name: str, billions: float) -> None:
    """The sum of the matrices is the published parameter count, within one percent."""
    assert pytest.approx(billions, rel=0.01) == known(name).parameters / 1e9


@pytest.mark.parametrize(("name", "kib"), CACHE.items(), ids=CACHE)
def test_cache_of_a_token_is_known(name: str, kib: float) -> None:
    """One token takes what heads, widths and layers say; windowed layers take nothing more for a long sequence."""
    assert pytest.approx(kib) == token_bytes(known(name).layers, Layout("vllm", 1)) / 1024


def test_every_row_names_its_source() -> None:
    """Each row says where the config lies and where it was read."""
    rows = read(FACTS)["models"]

    assert isinstance(rows, list)
    assert all(isinstance(row, dict) and row.get("source") and row.get("copy") for row in rows)


def test_no_id_is_given_twice() -> None:
    """An id stands in one row only."""
    rows = read(FACTS)["models"]
    ids = [name for row in rows if isinstance(row, dict) for name in row["ids"]] if isinstance(rows, list) else []

    assert len(ids) == len({str(name).lower() for name in ids}) == len(known_models())


@pytest.mark.parametrize("name", known_models())
def test_every_model_is_read(name: str) -> None:
    """No row of the facts raises."""
    assert known(name).parameters > 0


def test_id_is_found_in_any_case() -> None:
    """The hub does not tell upper from lower case, and neither do we."""
    assert known("DEEPSEEK-ai/deepseek-r1").layers == known("deepseek-ai/DeepSeek-R1").layers


def test_unknown_id_is_unknown() -> None:
    """A model that is not in the facts is not guessed from its name."""
    assert find_model("example/DeepSeek-R1-of-our-own") is None
