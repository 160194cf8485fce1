"""Proves what a sequence takes in each kind of layer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.memory.cache import FP8, sequence_bytes, token_bytes
from lockstep.memory.layout import Layout
from lockstep.model.shape import CompressedAttention, Indexer, Layer, LinearAttention, Mixer, StateSpace
from tests.lockstep.memory.shapes import GROUPED, LATENT

ONE = Layout("vllm", 1)


def layer(mixer: Mixer) -> tuple[Layer, ...]:
    """Return one layer."""
    return (Layer(mixer, None),)


CASES = {
    "two KV heads of 8": (GROUPED, ONE, 2 * 16 * 2),
    "one KV head a rank": (GROUPED, Layout("vllm", 2), 16 * 2),
    "copied KV heads": (GROUPED, Layout("vllm", 8), 16 * 2),
    "SGLang attention ranks": (GROUPED, Layout("sglang", 8, data=8), 2 * 16 * 2),
    "decode context parallel": (GROUPED, Layout("vllm", 8, decode_context=4), 16 * 2 / 4),
    "latents on one rank": (LATENT, ONE, 36 * 2),
    "latents are not cut": (LATENT, Layout("vllm", 8), 36 * 2),
    "sparse latents with an index": (replace(LATENT, indexer=Indexer(4, 128)), ONE, 36 * 2 + 132),
    "window": (replace(GROUPED, window=100), ONE, 0),
    "linear attention": (LinearAttention(2, 4, 8, 8, 4), ONE, 0),
    "compressed past": (CompressedAttention(8, 512, 64, 64, 2, 128, ratio=128), ONE, 512 * 2 / 128),
}


@pytest.mark.parametrize(("mixer", "layout", "bytes_"), CASES.values(), ids=CASES)
def test_bytes_of_one_more_token(mixer: Mixer, layout: Layout, bytes_: float) -> None:
    """One token more in a long sequence."""
    assert pytest.approx(bytes_) == token_bytes(layer(mixer), layout)


def test_fp8_halves_the_cache() -> None:
    """One byte for each number."""
    assert 2 * 16 == token_bytes(layer(GROUPED), ONE, FP8)


def test_window_keeps_its_tokens_and_a_step() -> None:
    """A window of 100 keeps 99 computed tokens and those in flight."""
    windowed = layer(replace(GROUPED, window=100))

    assert (99 + 50) * 2 * 16 * 2 == sequence_bytes(windowed, 4096, ONE, in_flight=50)


def test_short_sequence_does_not_fill_the_window() -> None:
    """A sequence shorter than its window takes what it has."""
    windowed = layer(replace(GROUPED, window=100))

    assert 10 * 2 * 16 * 2 == sequence_bytes(windowed, 10, ONE, in_flight=50)


def test_state_is_constant_and_cut() -> None:
    """A Mamba layer keeps heads x width x state in float32 and three inputs of its convolution."""
    mamba = layer(StateSpace(heads=8, head_dim=4, groups=2, state=16, convolution=4))

    assert (8 * 4 * 16 * 4 + (32 + 64) * 3 * 2) / 2 == sequence_bytes(mamba, 100_000, Layout("vllm", 2))
