"""How each engine spells the flags that memory hangs on."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ENGINES", "Spelling"]


@dataclass(frozen=True)
class Spelling:
    """The flags of one engine, without leading dashes; empty where it has none.

    Parameters
    ----------
    length
        Longest sequence.
    batch
        Tokens of the largest step.
    sequences
        Sequences of the largest step.
    fraction
        The memory setting.
    cache
        Type of the cache.
    eager
        Switch that turns CUDA graphs off.
    """

    length: str
    batch: str
    sequences: str
    fraction: str
    cache: str = ""
    eager: str = ""


# Sources: vLLM ``engine/arg_utils.py``; SGLang ``server_args.py``; TensorRT-LLM ``tensorrt_llm/commands/serve.py``.
ENGINES = {
    "vllm": Spelling(
        length="max-model-len",
        batch="max-num-batched-tokens",
        sequences="max-num-seqs",
        fraction="gpu-memory-utilization",
        cache="kv-cache-dtype",
        eager="enforce-eager",
    ),
    "sglang": Spelling(
        length="context-length",
        batch="chunked-prefill-size",
        sequences="max-running-requests",
        fraction="mem-fraction-static",
        cache="kv-cache-dtype",
        eager="disable-cuda-graph",
    ),
    "trtllm": Spelling(
        length="max_seq_len",
        batch="max_num_tokens",
        sequences="max_batch_size",
        fraction="kv_cache_free_gpu_memory_fraction",
    ),
}
