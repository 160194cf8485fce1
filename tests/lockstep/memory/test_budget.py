"""Proves what each engine's memory setting means."""

from __future__ import annotations

import pytest

from lockstep.memory.budget import Knob, default_fraction, pool
from lockstep.memory.units import GIB


@pytest.mark.parametrize(
    ("engine", "version", "gib", "ranks", "fraction"),
    [
        ("vllm", (0, 25, 1), 80, 8, 0.9),
        ("vllm", (0, 33, 0), 80, 8, 0.92),
        ("vllm", None, 80, 8, 0.92),
        ("sglang", None, 22.5, 1, 0.871),
        ("sglang", None, 80, 8, 0.831),
        ("sglang", None, 140, 8, 0.886),
        ("sglang", None, 180, 8, 0.822),
        ("trtllm", None, 80, 8, 0.9),
    ],
)
def test_default(engine: str, version: tuple[int, ...] | None, gib: float, ranks: int, fraction: float) -> None:
    """Each engine has its own, and vLLM's changed."""
    assert fraction == default_fraction(engine, version, gib * GIB, ranks)


@pytest.mark.parametrize(
    ("knob", "left"),
    [
        (Knob("vllm", 0.9), 90 - 40 - 5),
        (Knob("sglang", 0.9), 90 - 40),
        (Knob("sglang", 0.98), 100 - 40 - 5),
        (Knob("trtllm", 0.9), 0.9 * (100 - 40 - 5)),
        (Knob("vllm", 0.9, fixed=10), 10),
        (Knob("vllm", 0.9, fixed=80), 100 - 40 - 5),
    ],
    ids=str,
)
def test_pool(knob: Knob, left: float) -> None:
    """Of 100 bytes with 40 of weights and 5 beside them."""
    assert pytest.approx(left) == pool(knob, 100, 40, 5)
