"""Proves that the engine's own flags are read in every spelling."""

from __future__ import annotations

import pytest

from lockstep.memory.flags import Flags


@pytest.mark.parametrize(
    ("written", "tokens"),
    [
        (32768, 32768),
        ("32768", 32768),
        ("32k", 32000),
        ("32K", 32768),
        ("1.5K", 1536),
        pytest.param("9" * 400, None, id="400 digits"),
        ("auto", None),
        (0, None),
        (True, None),
    ],
    ids=str,
)
def test_whole_number(written: str | int, tokens: int | None) -> None:
    """Lengths can be written with a letter, as vLLM takes them."""
    assert tokens == Flags({"max-model-len": written}).whole("max-model-len")


@pytest.mark.parametrize("name", ["max-model-len", "max_model_len", "--max-model-len", "--max_model_len"])
def test_spelling(name: str) -> None:
    """Dashes in front and underscores do not matter."""
    assert 5 == Flags({name: 5}).whole("max-model-len")


def test_name_that_is_asked_for_can_have_underscores() -> None:
    """TensorRT-LLM spells its flags so."""
    assert 0.8 == Flags({"kv-cache-free-gpu-memory-fraction": 0.8}).number("kv_cache_free_gpu_memory_fraction")


@pytest.mark.parametrize("written", ["nan", "inf", "much", [0.9], {}])
def test_what_is_no_number_counts_as_absent(written: object) -> None:
    """The engine complains of it; the arithmetic does not stumble over it."""
    assert Flags({"gpu-memory-utilization": written}).number("gpu-memory-utilization") is None  # type: ignore[dict-item]


def test_entry_of_an_object() -> None:
    """A JSON flag is read as a mapping and as text."""
    config = {"method": "mtp"}

    assert ["mtp", "mtp", None] == [
        Flags({"speculative-config": value}).entry("speculative-config", "method")
        for value in (config, '{"method": "mtp"}', "{")
    ]
