"""How a checkpoint stores its weights, read from ``quantization_config`` or ``hf_quant_config.json``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lockstep.model.keys import ConfigError, Keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lockstep.model.shape import Part

__all__ = ["FP8", "Format", "Quantization", "read_quantization"]


@dataclass(frozen=True)
class Format:
    """How one kind of weight is stored.

    Parameters
    ----------
    name
        As people say it: ``fp8``, ``int4``, ``mxfp4``, ``nvfp4``.
    bits
        Bits of one weight.
    scale_bits
        Bits of the scale (and zero point) of one group or block.
    group
        Consecutive inputs that share a scale; None for none.
    block
        Outputs and inputs that share a scale; None for none.
    """

    name: str
    bits: int
    scale_bits: int = 0
    group: int | None = None
    block: tuple[int, int] | None = None

    @property
    def bytes(self) -> float:
        """Bytes of one parameter, its share of the scales included."""
        sharers = self.block[0] * self.block[1] if self.block else self.group
        return (self.bits + (self.scale_bits / sharers if sharers else 0)) / 8


@dataclass(frozen=True)
class Quantization:
    """The format of each part of a model; a part that is missing is stored unquantised.

    Parameters
    ----------
    method
        ``quant_method`` of the config.
    formats
        Pairs of part name (``lockstep.model.shape.Part`` value) and format.
    cache
        Cache type that the checkpoint asks for (``fp8``), None when it says nothing.
    known
        Whether ``formats`` says how the weights are stored; False for a method that Lockstep does not know.
    """

    method: str
    formats: tuple[tuple[str, Format], ...]
    cache: str | None = None
    known: bool = True

    def of(self, part: Part) -> Format | None:
        """Return the format of ``part``; None when it is not quantised."""
        return dict(self.formats).get(part.value)


FP8 = Format("fp8", 8)

# One name for each part as a checkpoint of any family may spell it, taken from a layer in the middle of
# the model: recipes often spare the first and last layers, and those weigh little.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "head": ("lm_head",),
    "indexer": ("self_attn.indexer.wq_b", "attn.indexer.wq_b"),
    "attention": ("self_attn.o_proj", "self_attn.q_proj", "self_attn.q_b_proj", "mixer.o_proj"),
    "state": ("linear_attn.in_proj_qkv", "linear_attn.in_proj_qkvz", "mixer.in_proj"),
    "mlp": ("mlp.gate_proj", "mlp.down_proj"),
    "expert": ("mlp.experts.0.gate_proj", "mlp.experts", "block_sparse_moe.experts.0.w1", "mixer.experts.0.up_proj"),
    "shared expert": ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj", "mixer.shared_experts.up_proj"),
}
# Engines quantise none of these whatever the recipe says; embeddings stay as they are by default.
PARTS = ("attention", "indexer", "state", "mlp", "expert", "shared expert")


def read_quantization(keys: Keys, layers: int) -> Quantization | None:
    """Read the quantisation of a checkpoint.

    Parameters
    ----------
    keys
        The whole config.json (language part), ``hf_quant_config.json`` merged in as ``quantization``.
    layers
        Decoder layers.

    Returns
    -------
    Quantization | None
        None when the config declares none; not ``known`` when Lockstep does not know its method.

    Raises
    ------
    ConfigError
        If its settings are not usable.
    """
    config = keys.section("quantization_config") or keys.section("compression_config") or keys.section("quantization")
    if config is None:
        return None
    method = config.text("quant_method", default="") or ("modelopt" if "quant_algo" in config.values else "unnamed")
    reader = METHODS.get(method)
    if reader is None:
        return unknown(method)
    found = reader(config, layers)
    # DeepSeek-V4 names the format of its experts beside the section, not in it.
    if keys.text("expert_dtype", default="") == "fp4":
        formats = tuple((part, MXFP4 if part == "expert" else stored) for part, stored in found.formats)
        return Quantization(found.method, formats, found.cache)
    return found


def read_fp8(config: Keys, layers: int) -> Quantization:
    """FP8 as DeepSeek and Qwen write it: 128 x 128 blocks with a float32 scale each, or one scale a tensor."""
    block = config.pair("weight_block_size")
    stored = Format("fp8", 8, 32 if block else 0, block=block)
    return Quantization("fp8", spread(config, layers, stored), cache_of(config))


MXFP4 = Format("mxfp4", 4, 8, group=32)
NVFP4 = Format("nvfp4", 4, 8, group=16)


def read_mxfp4(config: Keys, layers: int) -> Quantization:
    """MXFP4: 4-bit floats, one 8-bit scale for 32 of them (OCP microscaling formats 1.0)."""
    return Quantization("mxfp4", spread(config, layers, MXFP4), cache_of(config))


def read_groups(config: Keys, layers: int) -> Quantization:
    """GPTQ and AWQ: ``bits`` wide integers, and for each group a 16-bit scale and a zero point."""
    bits = config.positive("bits", "w_bit", default=4)

    group = (
        None if config.values.get("group_size") == -1 else config.positive("group_size", "q_group_size", default=128)
    )
    stored = Format(f"int{bits}", bits, 16 + bits if group else 0, group=group)
    return Quantization(config.text("quant_method"), spread(config, layers, stored), cache_of(config))


def read_compressed_tensors(config: Keys, layers: int) -> Quantization:
    """compressed-tensors: one ``config_groups`` entry that targets all linear layers."""
    groups = config.section("config_groups")
    named = [group.section("weights") for _, group in groups.items()] if groups else []
    formats = {weights_format(weights) for weights in named if weights}
    if len(formats) != 1:
        return unknown("compressed-tensors of several formats" if formats else "compressed-tensors without weights")
    return Quantization("compressed-tensors", spread(config, layers, formats.pop()), cache_of(config))


def weights_format(weights: Keys) -> Format:
    """Return the format that a ``weights`` entry of compressed-tensors or ModelOpt describes."""
    bits, group = weights.integer("num_bits"), weights.integer("group_size", default=0) or None
    if weights.text("type", default="int") == "int":
        return Format(f"int{bits}", bits, 16 if group else 0, group=group)
    if bits == 8:
        block = weights.pair("block_structure")
        return Format("fp8", 8, 32 if block else 0, block=block)
    return NVFP4 if group == 16 else MXFP4


def read_modelopt(config: Keys, layers: int) -> Quantization:
    """NVIDIA ModelOpt: one algorithm, or MIXED_PRECISION with the algorithm of each layer."""
    algorithm = config.text("quant_algo")
    layered = config.section("quantized_layers")
    if layered is None:
        stored = MODELOPT.get(algorithm)
        if stored is None:
            return unknown(f"modelopt {algorithm}")
        return Quantization("modelopt", spread(config, layers, stored), cache_of(config))
    formats = []
    named = {name.split(".layers.", 1)[-1]: entry for name, entry in layered.items()}
    for part, spellings in SPELLINGS.items():
        at = next(
            (f"{layers // 2 + i}.{s}" for s in spellings for i in range(8) if f"{layers // 2 + i}.{s}" in named), None
        )
        if at and (stored := MODELOPT.get(named[at].text("quant_algo"))):
            formats.append((part, stored))
    return Quantization("modelopt", tuple(formats), cache_of(config))


MODELOPT = {"FP8": FP8, "NVFP4": NVFP4, "W4A16_NVFP4": NVFP4, "FP8_PB_WO": Format("fp8", 8, 32, block=(128, 128))}
METHODS = {
    "fp8": read_fp8,
    "mxfp4": read_mxfp4,
    "gptq": read_groups,
    "awq": read_groups,
    "auto-round": read_groups,
    "fbgemm_fp8": read_fp8,
    "compressed-tensors": read_compressed_tensors,
    "modelopt": read_modelopt,
    "modelopt_fp4": read_modelopt,
}


def unknown(method: str) -> Quantization:
    """Return a quantisation whose formats Lockstep does not know."""
    return Quantization(method, (), known=False)


def cache_of(config: Keys) -> str | None:
    """Return the cache type that the checkpoint asks for."""
    scheme = config.section("kv_cache_scheme")
    if scheme is not None and scheme.integer("num_bits", default=0) == 8:
        return "fp8"
    return "fp8" if config.text("kv_cache_quant_algo", "kv_cache_scheme", default="").upper() == "FP8" else None


def spread(config: Keys, layers: int, stored: Format) -> tuple[tuple[str, Format], ...]:
    """Give ``stored`` to each part that the config does not except."""
    excepted = Exceptions(
        entry
        for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")
        for entry in config.texts(key)
    )
    prefix = f"model.layers.{layers // 2}."
    return tuple((part, stored) for part in PARTS if not any(excepted.hold(prefix + s) for s in SPELLINGS[part]))


class Exceptions:
    """The modules that a recipe leaves unquantised.

    ``re:`` is a regular expression, ``*`` a wildcard, anything else a name or the start or a component of one.
    Sources: vLLM ``quantization/utils/quant_utils.py`` (is_layer_skipped), compressed-tensors ``utils/match.py``.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self.names: set[str] = set()
        self.patterns: list[str] = []
        self.expressions: list[re.Pattern[str]] = []
        for entry in entries:
            if entry.startswith("re:"):
                try:
                    self.expressions.append(re.compile(entry[3:]))
                except re.error as error:
                    raise ConfigError("ignore", f"{entry!r} is no regular expression: {error}") from error
            elif "*" in entry:
                self.patterns.append(entry)
            else:
                self.names.add(entry)

    def hold(self, name: str) -> bool:
        """Say whether ``name`` is excepted."""
        steps = name.split(".")
        starts = {".".join(steps[:i]) for i in range(1, len(steps) + 1)}
        if not self.names.isdisjoint(starts) or not self.names.isdisjoint(steps):
            return True
        if any(fnmatchcase(start, pattern) for pattern in self.patterns for start in starts):
            return True
        return any(expression.match(name) for expression in self.expressions)


def merged(config: Mapping[str, object], beside: Mapping[str, object]) -> dict[str, object]:
    """Return ``config`` with the ``hf_quant_config.json`` that lies beside it."""
    return {**config, "quantization": beside.get("quantization", beside)}
