"""What each engine's memory knob leaves for the cache."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Knob", "default_fraction", "pool"]

MIB = 1 << 20


@dataclass(frozen=True)
class Knob:
    """An engine's memory setting.

    Parameters
    ----------
    engine
        ``vllm``, ``sglang`` or ``trtllm``.
    fraction
        Value of the engine's own flag.
    fixed
        Bytes of cache asked for outright (vLLM ``kv-cache-memory-bytes``); the fraction is then not looked at.
    graphs
        CUDA graphs count against the fraction. vLLM measures them since 0.21 and captured them on top before
        (``VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS``).
    """

    engine: str
    fraction: float
    fixed: float | None = None
    graphs: bool = True


def default_fraction(engine: str, version: tuple[int, ...] | None, memory: float, gpus: int) -> float:
    """Return the fraction that an engine uses when none is given.

    Parameters
    ----------
    engine
        ``vllm``, ``sglang`` or ``trtllm``.
    version
        Version of the engine; None for a recent one.
    memory
        Bytes of one accelerator.
    gpus
        Tensor x pipeline ranks.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    vLLM ``config/cache.py``: 0.9, and 0.92 by 0.26.
    SGLang ``server_args.py``: what is left after a reserve by size of the device, with half a GiB for each rank.
    TensorRT-LLM ``trtllm-serve``: 0.9 of what is free after loading.
    """
    if engine == "vllm":
        return 0.9 if version is not None and version < (0, 26) else 0.92
    if engine == "trtllm":
        return 0.9
    mib = memory / MIB
    for limit, reserve in ((35, 2.8 + gpus / 10), (90, 9.5 + gpus / 2), (160, 12 + gpus / 2)):
        if mib < limit * 1024:
            return round((mib - reserve * 1024) / mib, 3)
    return round((mib - 32 * 1024) / mib, 3)


def pool(knob: Knob, memory: float, weights: float, beside: float) -> float:
    """Return the bytes that are left for the cache on one GPU; negative when there are none.

    Parameters
    ----------
    knob
        The engine's setting.
    memory
        Bytes of the accelerator.
    weights
        Bytes of weights on it.
    beside
        Bytes that are neither weights nor cache.

    Returns
    -------
    float
        Bytes.

    Notes
    -----
    vLLM (``v1/worker/gpu_worker.py`` determine_available_memory): fraction x memory is for everything.
    SGLang (``--mem-fraction-static``, its help): fraction x memory is for weights and cache; the rest is for all else.
    TensorRT-LLM (``free_gpu_memory_fraction``): a fraction of what is free once weights and activations are there.
    """
    free = memory - weights - beside
    if knob.fixed is not None:
        return min(knob.fixed, free)
    if knob.engine == "vllm":
        return knob.fraction * memory - weights - beside
    if knob.engine == "sglang":
        return min(knob.fraction * memory - weights, free)
    return knob.fraction * free
