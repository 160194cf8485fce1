"""How a model is cut over the GPUs of one group."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Layout", "partition"]


@dataclass(frozen=True)
class Layout:
    """Parallel factors of one group.

    Parameters
    ----------
    engine
        ``vllm``, ``sglang`` or ``trtllm``.
    tensor, pipeline, data, context
        Factors of the law; their product is the number of GPUs. SGLang's attention data parallel is the exception:
        its ``data`` ranks are tensor-parallel ranks again.
    expert_parallel
        Whole experts are dealt out, rather than each being cut.
    decode_context
        Tensor-parallel ranks that share one sequence's cache (vLLM ``decode-context-parallel-size``).
    redundant
        Copies of experts that load balancing adds (vLLM ``eplb-config`` num_redundant_experts); None without it.
    """

    engine: str
    tensor: int
    pipeline: int = 1
    data: int = 1
    context: int = 1
    expert_parallel: bool = False
    decode_context: int = 1
    redundant: int | None = None

    @property
    def gpus(self) -> int:
        """GPUs of the group."""
        return self.tensor * self.pipeline * self.context * (1 if self.engine == "sglang" else self.data)

    @property
    def attention_ranks(self) -> int:
        """Ranks that share the heads of one layer.

        Source: SGLang ``arg_groups/parallel_hook.py`` (attention tensor parallel is tensor / attention data parallel).
        """
        return self.tensor // self.data if self.engine == "sglang" else self.tensor

    @property
    def expert_ranks(self) -> int:
        """GPUs of one pipeline stage that share its experts, cut or dealt.

        Sources: vLLM ``model_executor/layers/fused_moe/config.py`` (tensor x data x prefill-context ranks are
        flattened for experts, with expert parallel or without); SGLang and TensorRT-LLM use the tensor ranks.
        """
        return self.tensor * self.data * self.context if self.engine == "vllm" else self.tensor


def partition(layers: int, stages: int, engine: str) -> tuple[int, ...]:
    """Say how many layers each pipeline stage gets when nothing else is asked for.

    Parameters
    ----------
    layers
        Decoder layers.
    stages
        Pipeline stages.
    engine
        ``vllm``, ``sglang`` or ``trtllm``.

    Returns
    -------
    tuple of int
        Layers of each stage, in order; the sum is ``layers``.

    Notes
    -----
    vLLM ``distributed/utils.py`` get_pp_indices: the layers that are left over go one each to the stages before
    the last, counted from the end. SGLang carries the same function (``distributed/utils.py``).
    TensorRT-LLM ``mapping.py`` pp_layers: as ``numpy.array_split``, the first stages get one more.
    """
    each, over = divmod(layers, stages)
    if engine == "trtllm":
        return tuple(each + (index < over) for index in range(stages))
    return tuple(each + (stages - over - 1 <= index < stages - 1) for index in range(stages))
