"""Bytes of key/value cache and of state that a sequence takes on one GPU."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from lockstep.model.shape import Attention, CompressedAttention, LatentAttention, LinearAttention, StateSpace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockstep.memory.layout import Layout
    from lockstep.model.shape import Layer, Mixer

__all__ = ["BF16", "FP8", "sequence_bytes", "token_bytes"]

# vLLM ``v1/attention/backends/mla/flashmla_sparse.py``: 512 bytes of values, 16 of scales, 128 of rope.
SPARSE_FP8_ROW = 656
# vLLM ``models/deepseek_v4/attention.py``: 448 + 128 + 8 bytes.
COMPRESSED_FP8_ROW = 584
# An index key in fp8 with its float32 scale (vLLM ``models/deepseek_v2.py``, DeepseekV32IndexerCache).
INDEX_SCALE = 4


# Bytes of one number of the cache.
BF16 = 2.0
FP8 = 1.0


@singledispatch
def held(_mixer: Mixer, _tokens: int, _layout: Layout, _number: float, _in_flight: int) -> float:
    """Return the bytes that one layer keeps for one sequence of ``tokens`` tokens on one GPU.

    ``in_flight`` is how many tokens may be computed at once: a window layer frees the tokens behind its window
    only after the step (vLLM ``v1/kv_cache_interface.py``, SlidingWindowSpec).
    """
    return 0.0


@held.register(Attention)
def _grouped(mixer: Attention, tokens: int, layout: Layout, number: float, in_flight: int) -> float:
    """Keep two vectors a token and head; past one a rank, heads are copied (``config/model.py`` get_num_kv_heads)."""
    heads = -(-mixer.kv_heads // layout.attention_ranks)
    if mixer.window:
        return min(tokens, mixer.window - 1 + in_flight) * heads * (mixer.head_dim + mixer.value_dim) * number
    shared = layout.context * layout.decode_context
    return tokens / shared * heads * (mixer.head_dim + mixer.value_dim) * number


@held.register(LatentAttention)
def _latent(mixer: LatentAttention, tokens: int, layout: Layout, number: float, _in_flight: int) -> float:
    """Keep one vector a token, whole on every tensor-parallel rank; sparse variants add an index key."""
    shared = layout.context * layout.decode_context
    row = (mixer.kv_rank + mixer.rope_dim) * number
    if mixer.indexer:
        row = SPARSE_FP8_ROW if number == FP8 else row
        row += mixer.indexer.head_dim + INDEX_SCALE
    return tokens / shared * row


@held.register(CompressedAttention)
def _compressed(mixer: CompressedAttention, tokens: int, layout: Layout, number: float, in_flight: int) -> float:
    """Keep a window of rows, and one row for each ``ratio`` past tokens, with an index key where rows are picked."""
    row = COMPRESSED_FP8_ROW if number == FP8 else mixer.head_dim * number
    near = min(tokens, mixer.window - 1 + in_flight) * row
    if not mixer.ratio:
        return near
    index = mixer.indexer.head_dim + INDEX_SCALE if mixer.indexer else 0
    return near + tokens / mixer.ratio / layout.context * (row + index)


@held.register(LinearAttention)
def _linear(mixer: LinearAttention, _tokens: int, layout: Layout, _number: float, _in_flight: int) -> float:
    """Keep a key x value state a head and the convolution's last inputs (``mamba_utils.py`` gated_delta_net)."""
    state = mixer.value_heads * mixer.key_dim * mixer.value_dim * mixer.state_bytes
    inputs = (2 * mixer.key_heads * mixer.key_dim + mixer.value_heads * mixer.value_dim) * (mixer.convolution - 1) * 2
    return (state + inputs) / layout.attention_ranks


@held.register(StateSpace)
def _state(mixer: StateSpace, _tokens: int, layout: Layout, _number: float, _in_flight: int) -> float:
    """Keep a state of ``heads x head_dim x state`` and the convolution's last inputs (``mamba_utils.py`` mamba2)."""
    inner = mixer.heads * mixer.head_dim
    inputs = (inner + 2 * mixer.groups * mixer.state) * (mixer.convolution - 1) * 2
    return (inner * mixer.state * mixer.state_bytes + inputs) / layout.attention_ranks


def sequence_bytes(
    layers: Iterable[Layer], tokens: int, layout: Layout, number: float = BF16, in_flight: int = 0
) -> float:
    """Return the bytes that one sequence takes on one GPU of a stage.

    Parameters
    ----------
    layers
        The stage's layers.
    tokens
        Length of the sequence.
    layout
        How the group is cut.
    number
        Bytes of one number of the cache.
    in_flight
        Tokens that may be computed in one step.

    Returns
    -------
    float
        Bytes, without the rounding to blocks (at most a block of 16 tokens a layer).
    """
    mixers = [layer.mixer for layer in layers if layer.mixer]
    kinds = {mixer: mixers.count(mixer) for mixer in dict.fromkeys(mixers)}
    return sum(held(mixer, tokens, layout, number, in_flight) * count for mixer, count in kinds.items())


def token_bytes(layers: Iterable[Layer], layout: Layout, number: float = BF16) -> float:
    """Return the bytes that one more token of a long sequence takes on one GPU of a stage."""
    listed = tuple(layers)
    far = 1 << 30
    return sequence_bytes(listed, far + 128, layout, number) / 128 - sequence_bytes(listed, far, layout, number) / 128
