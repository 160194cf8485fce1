"""The shape of one model: its layers, and the weight matrices that they are made of.

One table of matrices feeds everything else: the parameter total is their sum, the memory of a GPU is
their shards, and a block-quantisation rule is a question about a shard's rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.model.quantization import Quantization

__all__ = [
    "Attention",
    "CompressedAttention",
    "Dense",
    "Experts",
    "Indexer",
    "LatentAttention",
    "Layer",
    "LinearAttention",
    "Matrix",
    "Mixer",
    "ModelShape",
    "Part",
    "Split",
    "StateSpace",
    "Vision",
]


class Part(str, Enum):
    """What a matrix belongs to: quantisation recipes and parallel layouts speak of these."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    INDEXER = "indexer"
    STATE = "state"
    MLP = "mlp"
    EXPERT = "expert"
    SHARED = "shared expert"
    ROUTER = "router"
    NORM = "norm"
    VISION = "vision"


class Split(Enum):
    """How tensor parallel cuts a matrix (vLLM: ``model_executor/layers/linear.py``)."""

    WHOLE = "every rank holds all of it"
    COLUMN = "its rows (outputs) are cut"
    ROW = "its columns (inputs) are cut"
    KV = "its rows are cut by KV heads; past one head a rank, heads are copied"


@dataclass(frozen=True)
class Matrix:
    """A weight matrix, ``count`` times.

    Parameters
    ----------
    name
        Last part of its name in the checkpoint, such as ``q_proj``.
    rows, columns
        Outputs and inputs.
    split
        How tensor parallel cuts it.
    part
        What it belongs to.
    count
        How many of them one layer has (experts).
    """

    name: str
    rows: int
    columns: int
    split: Split
    part: Part
    count: int = 1

    @property
    def parameters(self) -> int:
        """Parameters of all ``count`` matrices."""
        return self.rows * self.columns * self.count


@dataclass(frozen=True)
class Attention:
    """Grouped-query attention; ``kv_heads == heads`` is multi-head attention.

    Parameters
    ----------
    heads, kv_heads
        Query heads, and key/value heads.
    head_dim, value_dim
        Width of a key head and of a value head.
    window
        Tokens that the layer looks back; None for all.
    gated
        The query projection carries an output gate as wide as the queries (Qwen3-Next, Qwen3.5).
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int | None = None
    gated: bool = False

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield the projections of one layer of hidden size ``hidden``."""
        queries = self.heads * self.head_dim * (2 if self.gated else 1)
        yield Matrix("q_proj", queries, hidden, Split.COLUMN, Part.ATTENTION)
        yield Matrix("k_proj", self.kv_heads * self.head_dim, hidden, Split.KV, Part.ATTENTION)
        yield Matrix("v_proj", self.kv_heads * self.value_dim, hidden, Split.KV, Part.ATTENTION)
        yield Matrix("o_proj", hidden, self.heads * self.value_dim, Split.ROW, Part.ATTENTION)


@dataclass(frozen=True)
class Indexer:
    """The small attention that picks which tokens the large one reads (DeepSeek sparse attention).

    Parameters
    ----------
    heads, head_dim
        Index query heads, and the width of each (and of the one index key of a token).
    """

    heads: int
    head_dim: int

    def matrices(self, hidden: int, query_rank: int) -> Iterator[Matrix]:
        """Yield its projections; every tensor-parallel rank holds them whole."""
        yield Matrix("wq_b", self.heads * self.head_dim, query_rank, Split.WHOLE, Part.INDEXER)
        yield Matrix("wk", self.head_dim, hidden, Split.WHOLE, Part.INDEXER)
        yield Matrix("weights_proj", self.heads, hidden, Split.WHOLE, Part.INDEXER)


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: the cache holds one compressed vector a token, whatever the heads.

    Parameters
    ----------
    heads
        Query heads.
    query_rank
        Width of the compressed query; 0 when queries are not compressed.
    kv_rank, rope_dim
        Widths of the two parts of the cached vector.
    nope_dim, value_dim
        Width of a head's key without position, and of its value.
    indexer
        Present in sparse variants.
    gated
        An output gate of ``heads x value_dim`` is computed from the layer's input.
    """

    heads: int
    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    indexer: Indexer | None = None
    gated: bool = False

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield the projections; the two that compress are held whole by every rank."""
        key = self.nope_dim + self.rope_dim
        if self.query_rank:
            yield Matrix("q_a_proj", self.query_rank, hidden, Split.WHOLE, Part.ATTENTION)
        yield Matrix("q_b_proj", self.heads * key, self.query_rank or hidden, Split.COLUMN, Part.ATTENTION)
        yield Matrix("kv_a_proj", self.kv_rank + self.rope_dim, hidden, Split.WHOLE, Part.ATTENTION)
        rows = self.heads * (self.nope_dim + self.value_dim)
        yield Matrix("kv_b_proj", rows, self.kv_rank, Split.COLUMN, Part.ATTENTION)
        yield Matrix("o_proj", hidden, self.heads * self.value_dim, Split.ROW, Part.ATTENTION)
        if self.gated:
            yield Matrix("g_proj", self.heads * self.value_dim, hidden, Split.COLUMN, Part.ATTENTION)
        if self.indexer:
            yield from self.indexer.matrices(hidden, self.query_rank)


@dataclass(frozen=True)
class CompressedAttention:
    """One key/value head shared by all queries, a short window, and a compressed far past (DeepSeek-V4).

    Source: vLLM ``models/deepseek_v4/attention.py`` and ``compressor.py``.

    Parameters
    ----------
    heads, head_dim
        Query heads; width of a query, and of the one key that is also the value.
    query_rank, output_rank, output_groups
        Widths of the compressed query and output, and the groups of the latter.
    window
        Tokens kept uncompressed.
    ratio
        Tokens per compressed entry; 0 where the layer has the window only.
    indexer
        Present where entries are picked (ratio 4).
    """

    heads: int
    head_dim: int
    query_rank: int
    output_rank: int
    output_groups: int
    window: int
    ratio: int = 0
    indexer: Indexer | None = None

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield the projections; every rank holds compressor and indexer whole."""
        width = self.heads * self.head_dim
        rank = self.output_rank
        yield Matrix("wq_a", self.query_rank, hidden, Split.WHOLE, Part.ATTENTION)
        yield Matrix("wq_b", width, self.query_rank, Split.COLUMN, Part.ATTENTION)
        yield Matrix("wkv", self.head_dim, hidden, Split.WHOLE, Part.ATTENTION)
        yield Matrix("wo_a", self.output_groups * rank, width // self.output_groups, Split.COLUMN, Part.ATTENTION)
        yield Matrix("wo_b", hidden, self.output_groups * rank, Split.ROW, Part.ATTENTION)
        if self.ratio:
            # Entries overlap their neighbour when four tokens make one: twice the width.
            twice = 2 if self.indexer else 1
            yield Matrix("compressor", 2 * twice * self.head_dim, hidden, Split.WHOLE, Part.INDEXER)
        if self.indexer:
            yield Matrix(
                "wq_b_index", self.indexer.heads * self.indexer.head_dim, self.query_rank, Split.WHOLE, Part.INDEXER
            )
            yield Matrix("weights_proj", self.indexer.heads, hidden, Split.WHOLE, Part.INDEXER)
            yield Matrix("compressor_index", 4 * self.indexer.head_dim, hidden, Split.WHOLE, Part.INDEXER)


@dataclass(frozen=True)
class LinearAttention:
    """Gated delta-rule attention: a state of constant size in place of a cache (Qwen3-Next, Qwen3.5, Kimi Linear).

    Parameters
    ----------
    key_heads, value_heads
        Heads; a state is kept for each value head.
    key_dim, value_dim
        Width of each.
    convolution
        Taps of the short convolution before it.
    state_bytes
        Bytes of one number of the state.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    convolution: int
    state_bytes: int = 4

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield the projections (transformers ``modeling_qwen3_next.py``, Qwen3NextGatedDeltaNet)."""
        keys, values = self.key_heads * self.key_dim, self.value_heads * self.value_dim
        yield Matrix("in_proj_qkv", 2 * keys + values, hidden, Split.COLUMN, Part.STATE)
        yield Matrix("in_proj_z", values, hidden, Split.COLUMN, Part.STATE)
        yield Matrix("in_proj_ba", 2 * self.value_heads, hidden, Split.COLUMN, Part.STATE)
        yield Matrix("conv1d", 2 * keys + values, self.convolution, Split.COLUMN, Part.NORM)
        yield Matrix("out_proj", hidden, values, Split.ROW, Part.STATE)


@dataclass(frozen=True)
class StateSpace:
    """A Mamba-2 layer: a state of constant size in place of a cache (Nemotron-H).

    Parameters
    ----------
    heads, head_dim
        Heads and their width; ``heads x head_dim`` is the inner width.
    groups, state
        Groups that share their B and C, and the width of the state.
    convolution
        Taps of the short convolution.
    state_bytes
        Bytes of one number of the state.
    """

    heads: int
    head_dim: int
    groups: int
    state: int
    convolution: int
    state_bytes: int = 4

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield the projections (transformers ``modeling_nemotron_h.py``, NemotronHMamba2Mixer)."""
        inner, shared = self.heads * self.head_dim, 2 * self.groups * self.state
        yield Matrix("in_proj", 2 * inner + shared + self.heads, hidden, Split.COLUMN, Part.STATE)
        yield Matrix("conv1d", inner + shared, self.convolution + 1, Split.COLUMN, Part.NORM)
        yield Matrix("out_proj", hidden, inner, Split.ROW, Part.STATE)


Mixer = Attention | LatentAttention | CompressedAttention | LinearAttention | StateSpace


@dataclass(frozen=True)
class Dense:
    """A feed-forward block of one width.

    Parameters
    ----------
    width
        Inner width (``intermediate_size``).
    gated
        Gate and up projection (SwiGLU) rather than one.
    """

    width: int
    gated: bool = True

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield its two or three matrices."""
        yield from feed_forward(hidden, self.width, self.gated, Part.MLP)


@dataclass(frozen=True)
class Experts:
    """A mixture-of-experts block.

    Parameters
    ----------
    count, active
        Routed experts, and how many of them see a token.
    width
        Inner width of one.
    shared_width
        Inner width of the shared expert (all of them together), 0 for none.
    gated
        As for Dense.
    latent
        Width that tokens are projected to before the experts; None for the hidden size.
    dense_width
        A dense block that runs beside the experts (Gemma 4), 0 for none.
    """

    count: int
    active: int
    width: int
    shared_width: int = 0
    gated: bool = True
    latent: int | None = None
    dense_width: int = 0

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield router, experts, shared expert and the projections around them."""
        inner = self.latent or hidden
        yield Matrix("gate", self.count, hidden, Split.WHOLE, Part.ROUTER)
        if self.latent:
            yield Matrix("latent_in", self.latent, hidden, Split.WHOLE, Part.SHARED)
            yield Matrix("latent_out", hidden, self.latent, Split.WHOLE, Part.SHARED)
        yield from feed_forward(inner, self.width, self.gated, Part.EXPERT, self.count)
        if self.shared_width:
            yield from feed_forward(hidden, self.shared_width, self.gated, Part.SHARED)
        if self.dense_width:
            yield from feed_forward(hidden, self.dense_width, self.gated, Part.MLP)


def feed_forward(hidden: int, width: int, gated: bool, part: Part, count: int = 1) -> Iterator[Matrix]:
    """Yield the matrices of ``count`` feed-forward blocks of inner width ``width``."""
    if gated:
        yield Matrix("gate_proj", width, hidden, Split.COLUMN, part, count)
    yield Matrix("up_proj", width, hidden, Split.COLUMN, part, count)
    yield Matrix("down_proj", hidden, width, Split.ROW, part, count)


@dataclass(frozen=True)
class Layer:
    """One decoder layer: what mixes tokens, and what works on each; hybrids have layers with only one of them."""

    mixer: Mixer | None
    block: Dense | Experts | None

    def matrices(self, hidden: int) -> Iterator[Matrix]:
        """Yield all matrices of the layer, with its norms."""
        if self.mixer:
            yield from self.mixer.matrices(hidden)
            yield Matrix("norm", hidden, 1, Split.WHOLE, Part.NORM)
        if self.block:
            yield from self.block.matrices(hidden)
            yield Matrix("norm", hidden, 1, Split.WHOLE, Part.NORM)


@dataclass(frozen=True)
class Vision:
    """A vision tower, as far as engines cut it.

    Parameters
    ----------
    heads, layers, hidden, width
        Of the encoder; 0 where the config does not say (then only its presence is known).
    """

    heads: int
    layers: int
    hidden: int
    width: int

    def matrices(self) -> Iterator[Matrix]:
        """Yield the encoder's matrices; patch embedding and merger, some ten million, are left out."""
        square = self.hidden * self.layers
        yield Matrix("qkv", 3 * self.hidden, square, Split.COLUMN, Part.VISION)
        yield Matrix("proj", self.hidden, square, Split.ROW, Part.VISION)
        yield Matrix("fc1", self.width, square, Split.COLUMN, Part.VISION)
        yield Matrix("fc2", square, self.width, Split.ROW, Part.VISION)


@dataclass(frozen=True)
class ModelShape:
    """Everything from a config.json that the rules and the memory arithmetic need.

    Parameters
    ----------
    name
        Model id, or the path of the config.
    architecture
        First entry of ``architectures``.
    hidden, vocab
        Widths.
    layers
        The decoder layers in order, without those for multi-token prediction.
    tied
        Input and output embedding are one matrix.
    dtype_bytes
        Bytes of one unquantised parameter.
    quantization
        What the checkpoint says of its own quantisation; None for none.
    context
        Longest sequence the config allows, in tokens.
    draft
        Layers for multi-token prediction; loaded only when speculative decoding asks for them.
    vision
        The vision tower; None for text models.
    checkpoint
        Bytes of all its files, as its safetensors index says; None when there is no index.
    """

    name: str
    architecture: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    tied: bool
    dtype_bytes: float
    quantization: Quantization | None
    context: int
    draft: tuple[Layer, ...] = field(default=())
    vision: Vision | None = None
    checkpoint: int | None = None

    @property
    def heads(self) -> int:
        """Attention heads (the fewest of any layer, 0 when no layer has attention)."""
        return min((m.heads for m in self.attention), default=0)

    @cached_property
    def kinds(self) -> tuple[Layer, ...]:
        """The different layers, each once, in order of appearance."""
        return tuple(dict.fromkeys(self.layers))

    @cached_property
    def attention(self) -> tuple[Attention | LatentAttention | CompressedAttention, ...]:
        """The different mixers that keep a cache of keys and values, each once."""
        keeping = (Attention, LatentAttention, CompressedAttention)
        return tuple(dict.fromkeys(layer.mixer for layer in self.kinds if isinstance(layer.mixer, keeping)))

    @property
    def experts(self) -> Experts | None:
        """The mixture-of-experts block; None for a dense model."""
        return next((layer.block for layer in self.kinds if isinstance(layer.block, Experts)), None)

    @property
    def latent(self) -> bool:
        """Whether the cache is one vector a token that every tensor-parallel rank holds whole."""
        return any(not isinstance(m, Attention) for m in self.attention)

    def outer(self) -> Iterator[Matrix]:
        """Yield what lies outside the decoder layers, without the vision tower."""
        yield Matrix("embed_tokens", self.vocab, self.hidden, Split.COLUMN, Part.EMBEDDING)
        if not self.tied:
            yield Matrix("lm_head", self.vocab, self.hidden, Split.COLUMN, Part.HEAD)
        yield Matrix("norm", self.hidden, 1, Split.WHOLE, Part.NORM)

    def matrices(self) -> Iterator[Matrix]:
        """Yield every matrix of the language model, without draft layers and vision tower."""
        yield from self.outer()
        for layer in self.layers:
            yield from layer.matrices(self.hidden)

    @property
    def parameters(self) -> int:
        """Parameters of the language model, without draft layers and vision tower."""
        return sum(matrix.parameters for matrix in self.matrices())
