"""From a release to what is asked of the memory."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep.memory.accelerators import Accelerator, find_accelerator
from lockstep.memory.budget import Knob, default_fraction
from lockstep.memory.cache import BF16, FP8
from lockstep.memory.engines import ENGINES
from lockstep.memory.fit import Plan
from lockstep.memory.flags import Flags
from lockstep.memory.layout import Layout
from lockstep.model.quantization import FP8 as FP8_WEIGHTS
from lockstep.model.quantization import PARTS, Quantization
from lockstep.release import version

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape
    from lockstep.release import Release

__all__ = ["accelerator_of", "layout_of", "plan_of", "stages_of"]

# Flags that change weights or cache in ways the arithmetic does not know: with them nothing is said.
UNPREDICTABLE = (
    "cpu-offload-gb",
    "hf-overrides",
    "num-gpu-blocks-override",
    "load-format",
    "enable-lora",
    "offload-backend",
)
DTYPE_BYTES = {"float32": 4.0, "float": 4.0, "half": 2.0, "float16": 2.0, "bfloat16": 2.0}
CACHE_BYTES = {
    "bfloat16": BF16,
    "float16": BF16,
    "fp8": FP8,
    "fp8_e4m3": FP8,
    "fp8_e5m2": FP8,
    "fp8_ds_mla": FP8,
}


def layout_of(release: Release) -> Layout:
    """Return how a release cuts its model."""
    flags = Flags(release.engine.args)
    return Layout(
        engine=release.engine.name,
        tensor=release.layout.tensor,
        pipeline=release.layout.pipeline,
        data=release.layout.data,
        context=release.layout.context,
        expert_parallel=release.layout.expert > 1,
        decode_context=flags.whole("decode-context-parallel-size") or 1,
        redundant=redundant(flags) if flags.on("enable-eplb") else None,
    )


def redundant(flags: Flags) -> int:
    """Return the copies of experts that load balancing adds."""
    written = flags.entry("eplb-config", "num_redundant_experts") or "0"
    return int(written) if re.fullmatch(r"\d{1,6}", written) else 0


def accelerator_of(release: Release) -> Accelerator | None:
    """Return the accelerator that a node selector names; None when none does, or they disagree."""
    found = {
        accelerator
        for section in release.sections
        for label in section.node_selector.values()
        if (accelerator := find_accelerator(str(label)))
    }
    return found.pop() if len(found) == 1 else None


def stages_of(release: Release) -> tuple[int, ...] | None:
    """Return the layers of each stage from ``VLLM_PP_LAYER_PARTITION``; None when it is not set or not usable."""
    written = release.engine.env.get("VLLM_PP_LAYER_PARTITION")
    if not isinstance(written, (str, int)):
        return None
    parts = str(written).split(",")
    return tuple(int(part) for part in parts) if all(re.fullmatch(r"\s*\d{1,5}\s*", part) for part in parts) else None


def plan_of(release: Release, model: ModelShape, accelerator: Accelerator) -> Plan | None:
    """Return what a release asks of the memory.

    Parameters
    ----------
    release
        The release.
    model
        Shape of its model.
    accelerator
        What its ranks run on.

    Returns
    -------
    Plan | None
        None when a flag changes weights or cache in a way that cannot be worked out beforehand.
    """
    flags = Flags(release.engine.args)
    weights = stored(model, flags)
    number = cache_bytes(model, flags.text(ENGINES[release.engine.name].cache))
    names = ENGINES[release.engine.name]
    length = flags.whole(names.length) or (model.context if flags.text(names.length) is None else 0)
    if weights is None or number is None or not length or any(name in flags for name in UNPREDICTABLE):
        return None
    return Plan(
        model=weights,
        layout=layout_of(release),
        accelerator=accelerator,
        knob=knob_of(release, flags, accelerator),
        length=length,
        number=number,
        batch_tokens=flags.whole(names.batch) or accelerator.batch_tokens,
        sequences=flags.whole(names.sequences) or accelerator.sequences,
        eager=flags.on(names.eager),
        draft="mtp" in (flags.entry("speculative-config", "method") or ""),
        stages=stages_of(release),
    )


def knob_of(release: Release, flags: Flags, accelerator: Accelerator) -> Knob:
    """Return the engine's memory setting."""
    name = release.engine.name
    ranks = release.layout.tensor * release.layout.pipeline
    numbers = version(release.engine.version)
    default = default_fraction(name, numbers or None, accelerator.memory, ranks)
    given = flags.number(ENGINES[name].fraction)
    graphs = name != "vllm" or not numbers or numbers >= (0, 21)
    return Knob(name, default if given is None else given, flags.whole("kv-cache-memory-bytes"), graphs)


def stored(model: ModelShape, flags: Flags) -> ModelShape | None:
    """Return the model as its weights lie in memory, None for a quantisation at load time that is not known."""
    written = flags.text("quantization")
    dtype = DTYPE_BYTES.get(flags.text("dtype") or "", model.dtype_bytes)
    model = replace(model, dtype_bytes=dtype)
    if model.quantization is not None:
        return model if model.quantization.known else None
    if written is None:
        return model
    if written != "fp8":
        return None
    formats = tuple((part, FP8_WEIGHTS) for part in PARTS)
    return replace(model, quantization=Quantization("fp8", formats), checkpoint=None)


def cache_bytes(model: ModelShape, written: str | None) -> float | None:
    """Return the bytes of one number of the cache, None for a type that is not known.

    ``auto`` is the type of the model, or what its checkpoint asks for (vLLM ``config/cache.py``, ``cache_dtype``).
    """
    if written in (None, "auto"):
        return FP8 if model.quantization and model.quantization.cache == "fp8" else min(model.dtype_bytes, 4.0)
    return CACHE_BYTES.get(written or "")
