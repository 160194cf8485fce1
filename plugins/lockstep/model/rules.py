"""What an engine will say about a layout once it has read the model's config: the same rules, beforehand.

Each rule is a generator over the violations it finds. Sources name vLLM's files below ``vllm/`` where a rule is its
own; SGLang and TensorRT-LLM divide in the same places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockstep.model.shape import Attention, Dense, Experts, LinearAttention, Part, Split, StateSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockstep.memory.layout import Layout
    from lockstep.model.shape import Matrix, ModelShape

__all__ = ["Violation", "tensor_sizes", "violations"]

# vLLM pads the vocabulary to a multiple of this (``layers/vocab_parallel_embedding.py``).
VOCAB_PADDING = 64
LARGEST_TENSOR = 64


@dataclass(frozen=True)
class Violation:
    """A rule that a layout breaks.

    Parameters
    ----------
    rule
        Name of the rule, a key of ``RULES``.
    message
        What is wrong, with the numbers.
    path
        Values key that has to change.
    """

    rule: str
    message: str
    path: str = "parallelism.tensor"


def heads(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Attention heads are dealt whole: their number must be a multiple of the ranks that share them.

    Sources: ``config/model.py`` verify_with_parallel_config; SGLang ``models/deepseek_v2.py`` and its kin, where the
    ranks are tensor / attention data parallel.
    """
    ranks = layout.attention_ranks
    for count in sorted({mixer.heads for mixer in model.attention}):
        if count % ranks:
            yield Violation(
                "heads",
                f"{count} attention heads cannot be dealt to {ranks} ranks ({count} / {ranks} = {count / ranks:.4g})",
            )


def kv_heads(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """KV heads are dealt whole, or each goes to a whole number of ranks (``layers/linear.py`` QKVParallelLinear)."""
    ranks = layout.attention_ranks
    for count in sorted({mixer.kv_heads for mixer in model.attention if isinstance(mixer, Attention)}):
        large, small = max(count, ranks), min(count, ranks)
        if large % small:
            how = "dealt" if count > ranks else "copied"
            yield Violation(
                "kv_heads",
                f"{count} KV heads cannot be {how} to {ranks} ranks ({large} / {small} = {large / small:.4g})",
            )


def state_heads(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Heads of linear attention and Mamba are dealt whole, too.

    Sources: ``layers/mamba/mamba_utils.py`` gated_delta_net_state_shape; ``layers/mamba/mamba_mixer2.py`` (heads, and
    groups unless there is one).
    """
    ranks = layout.attention_ranks
    for mixer in {layer.mixer for layer in model.kinds}:
        if isinstance(mixer, LinearAttention):
            counts = {
                "key heads of linear attention": mixer.key_heads,
                "value heads of linear attention": mixer.value_heads,
            }
        elif isinstance(mixer, StateSpace):
            counts = {"Mamba heads": mixer.heads}
        else:
            continue
        for name, count in counts.items():
            if count % ranks:
                yield Violation(
                    "state_heads",
                    f"{count} {name} cannot be dealt to {ranks} ranks ({count} / {ranks} = {count / ranks:.4g})",
                )


def widths(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Feed-forward blocks are cut evenly, experts over all ranks that share them (``distributed/utils.py`` divide)."""
    cut: dict[str, tuple[int, int]] = {}
    for block in {layer.block for layer in model.kinds}:
        if isinstance(block, Dense):
            cut["dense blocks"] = (block.width, layout.tensor)
        elif isinstance(block, Experts):
            if not layout.expert_parallel:
                cut["experts"] = (block.width, layout.expert_ranks)
            if block.shared_width:
                cut["shared experts"] = (block.shared_width, layout.tensor)
    for name, (width, ranks) in cut.items():
        if width % ranks:
            yield Violation(
                "widths",
                f"the inner width {width} of its {name} cannot be cut into {ranks} equal parts",
            )


def vocabulary(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Tell that vLLM pads the vocabulary to 64 and then cuts it evenly (``layers/vocab_parallel_embedding.py``).

    SGLang pads to a multiple of 64 x tensor, so that any size works there.
    """
    padded = -(-model.vocab // VOCAB_PADDING) * VOCAB_PADDING
    if layout.engine == "vllm" and padded % layout.tensor:
        yield Violation(
            "vocabulary",
            f"the vocabulary of {model.vocab}, padded to {padded}, cannot be cut into {layout.tensor} equal parts",
        )


def stages(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Every pipeline stage needs a layer (vLLM accepts more stages than layers and hands out empty ones)."""
    count = len(model.layers)
    if layout.pipeline > count:
        yield Violation(
            "stages",
            f"{layout.pipeline} pipeline stages for {count} layers leave {layout.pipeline - count} stages empty",
            "parallelism.pipeline",
        )


def expert_flags(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Expert parallel needs experts (``config/model.py`` _verify_with_expert_parallelism)."""
    if layout.expert_parallel and model.experts is None:
        yield Violation("expert_flags", "expert parallel is on, and the model has no experts", "parallelism.expert")


def expert_balancing(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Expert load balancing needs dealt experts, the same number for every rank.

    Sources: ``config/parallel.py`` ParallelConfig; ``layers/fused_moe/layer.py``.
    """
    if layout.redundant is None or model.experts is None:
        return
    ranks, count = layout.expert_ranks, model.experts.count + layout.redundant
    if not layout.expert_parallel or ranks == 1:
        text = "expert load balancing is on, and there are no ranks that whole experts are dealt to"
        yield Violation("expert_balancing", text, "engine.args.enable-eplb")
    elif count % ranks:
        text = f"{model.experts.count} experts and {layout.redundant} copies are not as many for each of {ranks} ranks"
        yield Violation("expert_balancing", text, "engine.args.eplb-config")


def decode_context(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Decode context parallel needs ranks that hold the same KV head (``config/model.py``, ``config/parallel.py``)."""
    size, path = layout.decode_context, "engine.args.decode-context-parallel-size"
    if size == 1:
        return
    if layout.tensor % size:
        yield Violation(
            "decode_context", f"decode context parallel {size} does not divide tensor {layout.tensor}", path
        )
    grouped = [mixer for mixer in model.attention if isinstance(mixer, Attention)]
    if grouped and layout.tensor // grouped[0].kv_heads < size:
        most = max(layout.tensor // grouped[0].kv_heads, 1)
        text = (
            f"decode context parallel {size} is more than the {most} ranks that hold the same "
            f"of {grouped[0].kv_heads} KV heads at tensor {layout.tensor}"
        )
        yield Violation("decode_context", text, path)
    elif grouped and grouped[0].heads // grouped[0].kv_heads % size:
        each = grouped[0].heads // grouped[0].kv_heads
        yield Violation(
            "decode_context", f"{each} query heads to a KV head are no multiple of decode context parallel {size}", path
        )


def blocks(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Blocks and groups of scales are not cut: a rank's part of a quantised matrix must end where one ends.

    Sources: ``quantization/utils/fp8_utils.py`` validate_fp8_block_shape, validate_fp8_block_shape_moe;
    ``quantization/auto_awq.py`` and ``distributed/utils.py`` verify_group_size_divides_partition. MXFP4 kernels pad.
    """
    if not (model.quantization and model.quantization.known) or model.architecture in PADS_BLOCKS:
        return
    told = set()
    for layer in model.kinds:
        for matrix in layer.matrices(model.hidden):
            text = block_fault(model, matrix, layout)
            if text and text not in told:
                told.add(text)
                yield Violation("blocks", text)


# vLLM ``models/deepseek_v4/nvidia/model.py`` rounds the blocks of a rank up.
PADS_BLOCKS = ("DeepseekV4ForCausalLM",)


def block_fault(model: ModelShape, matrix: Matrix, layout: Layout) -> str | None:
    """Say how a rank's part of ``matrix`` misses a block, None when it does not."""
    stored = model.quantization.of(matrix.part) if model.quantization else None
    expert = matrix.part is Part.EXPERT
    ranks = (
        layout.expert_ranks if expert else layout.attention_ranks if matrix.part is Part.ATTENTION else layout.tensor
    )
    if (
        stored is None
        or stored.name == "mxfp4"
        or matrix.split in (Split.WHOLE, Split.KV)
        or (expert and layout.expert_parallel)
    ):
        return None
    row = matrix.split is Split.ROW
    size = matrix.columns if row else matrix.rows
    unit = (stored.block[1] if row else stored.block[0]) if stored.block else (stored.group if row else None)
    if unit is None or ranks == 1 or size % ranks or size // ranks % unit == 0:
        return None
    what = "block" if stored.block else "group"
    name = f"{matrix.part.value} width" if matrix.part in (Part.EXPERT, Part.MLP, Part.SHARED) else matrix.name
    share = size // ranks
    return f"{name} {size} / {ranks} ranks = {share}, no multiple of the {what} of {unit} of its {stored.name} scales"


def vision(model: ModelShape, layout: Layout) -> Iterator[Violation]:
    """Heads of the vision tower are dealt whole, unless every rank runs all of it (``--mm-encoder-tp-mode data``)."""
    if model.vision and model.vision.heads % layout.tensor:
        count = model.vision.heads
        yield Violation(
            "vision",
            f"{count} heads of the vision tower cannot be dealt to {layout.tensor} ranks",
            "parallelism.tensor",
        )


RULES: dict[str, Callable[[ModelShape, Layout], Iterator[Violation]]] = {
    "heads": heads,
    "kv_heads": kv_heads,
    "state_heads": state_heads,
    "widths": widths,
    "vocabulary": vocabulary,
    "stages": stages,
    "expert_flags": expert_flags,
    "expert_balancing": expert_balancing,
    "decode_context": decode_context,
    "blocks": blocks,
    "vision": vision,
}


def violations(model: ModelShape, layout: Layout, *, whole_vision: bool = False) -> tuple[Violation, ...]:
    """Return every rule that ``layout`` breaks for ``model``.

    Parameters
    ----------
    model
        The model.
    layout
        How it is cut.
    whole_vision
        Every rank runs the whole vision tower, or none does.

    Returns
    -------
    tuple of Violation
        Empty when the engine will take the layout.
    """
    skip = {"vision"} if whole_vision else set()
    return tuple(v for name, rule in RULES.items() if name not in skip for v in rule(model, layout))


def tensor_sizes(model: ModelShape, layout: Layout, *, whole_vision: bool = False) -> tuple[int, ...]:
    """Return the tensor-parallel sizes up to 64 that break no rule, all else as in ``layout``.

    Parameters
    ----------
    model
        The model.
    layout
        How it is cut.
    whole_vision
        As for ``violations``.

    Returns
    -------
    tuple of int
        Ascending.
    """
    plain = replace(layout, pipeline=1, decode_context=1)
    sizes = (s for s in range(1, LARGEST_TENSOR + 1) if layout.engine != "sglang" or s % layout.data == 0)
    return tuple(s for s in sizes if not violations(model, replace(plain, tensor=s), whole_vision=whole_vision))
