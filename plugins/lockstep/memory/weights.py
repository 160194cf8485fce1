"""Bytes of weights that one GPU holds."""

from __future__ import annotations

from itertools import chain
from math import ceil
from typing import TYPE_CHECKING

from lockstep.model.shape import Attention, Part, Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lockstep.memory.layout import Layout
    from lockstep.model.quantization import Format
    from lockstep.model.shape import Layer, Matrix, ModelShape

__all__ = ["checkpoint_bytes", "matrix_bytes", "outer_bytes", "stage_bytes"]


def format_of(model: ModelShape, matrix: Matrix) -> Format | None:
    """Return how ``matrix`` is stored; None for unquantised."""
    return model.quantization.of(matrix.part) if model.quantization else None


def matrix_bytes(model: ModelShape, matrix: Matrix) -> float:
    """Return the bytes of one parameter of ``matrix``, scales included."""
    stored = format_of(model, matrix)
    return stored.bytes if stored else model.dtype_bytes


def held_bytes(model: ModelShape, matrix: Matrix, layout: Layout, kv_heads: int = 1) -> float:
    """Return the bytes of ``matrix`` on one GPU."""
    return shard(matrix, layout, kv_heads, format_of(model, matrix)) * matrix_bytes(model, matrix)


def round_up(size: float, multiple: int) -> int:
    """Return the next multiple."""
    return ceil(size / multiple) * multiple


def shard(matrix: Matrix, layout: Layout, kv_heads: int, stored: Format | None) -> float:
    """Return the parameters of ``matrix`` that one tensor-parallel rank holds, padding included.

    Sources: vLLM ``model_executor/layers/linear.py`` (Column-, Row-, QKVParallelLinear: past one KV head a rank,
    heads are copied), ``layers/vocab_parallel_embedding.py``, ``layers/fused_moe/config.py`` (experts),
    ``layers/fused_moe/oracle/mxfp4.py`` (its kernels pad the inner width to 128 and the hidden size to 256).
    """
    if matrix.part is Part.EXPERT:
        cut, count = layout.expert_ranks, matrix.count
        if layout.expert_parallel:
            cut, count = 1, -(-(matrix.count + (layout.redundant or 0)) // layout.expert_ranks)
        inner, hidden = (matrix.rows, matrix.columns) if matrix.split is Split.COLUMN else (matrix.columns, matrix.rows)
        if stored and stored.name == "mxfp4":
            return round_up(inner / cut, 128) * round_up(hidden, 256) * count
        return inner / cut * hidden * count
    if matrix.split is Split.WHOLE:
        return matrix.parameters
    ranks = layout.attention_ranks if matrix.part in (Part.ATTENTION, Part.STATE) else layout.tensor
    return matrix.parameters / (min(ranks, kv_heads) if matrix.split is Split.KV else ranks)


def layer_bytes(model: ModelShape, layer: Layer, layout: Layout) -> float:
    """Return the bytes of one decoder layer on one GPU."""
    kv_heads = layer.mixer.kv_heads if isinstance(layer.mixer, Attention) else 1
    return sum(held_bytes(model, m, layout, kv_heads) for m in layer.matrices(model.hidden))


def stage_bytes(model: ModelShape, layers: Iterable[Layer], layout: Layout) -> float:
    """Return the bytes of the decoder layers of one pipeline stage on one GPU."""
    known: dict[Layer, float] = {}
    total = 0.0
    for layer in layers:
        if layer not in known:
            known[layer] = layer_bytes(model, layer, layout)
        total += known[layer]
    return total


def outer_bytes(model: ModelShape, layout: Layout, *, first: bool, last: bool) -> float:
    """Return the bytes of embeddings, head and vision tower on one GPU of a stage.

    The first stage holds the input embedding, the last the head (a tied head is the embedding again, on the last
    stage). Every stage holds the vision tower, as vLLM's multimodal models build it on each. Attention data
    parallel keeps embedding and head cut by tensor parallel only.
    """
    parts = set()
    if first:
        parts.add(Part.EMBEDDING)
    if last:
        parts.add(Part.EMBEDDING if model.tied else Part.HEAD)
    language = (m for m in model.outer() if m.part in parts)
    vision: Iterator[Matrix] = model.vision.matrices() if model.vision else iter(())
    return sum(held_bytes(model, m, layout) for m in (*language, *vision))


def checkpoint_bytes(model: ModelShape) -> float:
    """Return the bytes of all files of the checkpoint by arithmetic: language model, draft layers and vision tower."""
    draft = [matrix for layer in model.draft for matrix in layer.matrices(model.hidden)]
    vision: Iterator[Matrix] = model.vision.matrices() if model.vision else iter(())
    return sum(m.parameters * matrix_bytes(model, m) for m in chain(model.matrices(), draft, vision))
