"""Asks vLLM itself whether it takes a layout: run by the engine's own Python, cases as JSON on standard input.

For each case: the configuration step, then the layers that vLLM would build on one rank, without memory (torch's
``meta`` device). Answers with a JSON list: null where all is taken, else what vLLM said.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

import torch
import vllm.model_executor.layers.linear as linear
import vllm.model_executor.layers.vocab_parallel_embedding as embedding
import vllm.model_executor.parameter as parameter
from vllm import distributed
from vllm.config import ModelConfig, ParallelConfig, VllmConfig, set_current_vllm_config
from vllm.distributed.utils import divide
from vllm.model_executor.layers.quantization.fp8 import Fp8Config
from vllm.model_executor.layers.quantization.utils.fp8_utils import validate_fp8_block_shape_moe

SIZE, RANK = "get_tensor_model_parallel_world_size", "get_tensor_model_parallel_rank"
PLAIN = {"bias": False, "params_dtype": torch.bfloat16}


@cache
def model(folder):
    """Read a model's config as vLLM does."""
    return ModelConfig(model=folder, tokenizer=folder, skip_tokenizer_init=True)


def configure(case):
    """Run the part of the configuration step that looks at model and layout."""
    parallel = ParallelConfig(
        tensor_parallel_size=case["tensor"],
        pipeline_parallel_size=case["pipeline"],
        enable_expert_parallel=case["experts"],
        decode_context_parallel_size=case["decode_context"],
    )
    model(case["folder"]).verify_with_parallel_config(parallel)


def build(part, tensor):
    """Build one layer of one rank."""
    kind, sizes = part["kind"], part["sizes"]
    quant = None
    if part["block"]:
        quant = Fp8Config(
            is_checkpoint_fp8_serialized=True, activation_scheme="dynamic", weight_block_size=part["block"]
        )
    keys = {**PLAIN, "quant_config": quant, "prefix": "layer"}
    if kind == "qkv":
        linear.QKVParallelLinear(*sizes, **keys)
    elif kind == "row":
        linear.RowParallelLinear(*sizes, **keys)
    elif kind == "column":
        linear.ColumnParallelLinear(*sizes, **keys)
    elif kind == "vocabulary":
        embedding.VocabParallelEmbedding(*sizes)
    elif kind == "expert":
        width = divide(sizes[0], tensor)
        if part["block"]:
            validate_fp8_block_shape_moe(width, part["block"])


def answer(case):
    """Say what vLLM says of a case."""
    tensor = case["tensor"]
    try:
        configure(case)
        with ExitStack() as patches, torch.device("meta"):
            for module in (linear, embedding, parameter, distributed):
                for name, value in ((SIZE, tensor), (RANK, 0)):
                    if hasattr(module, name):
                        patches.enter_context(patch.object(module, name, lambda value=value: value))
            for part in case["parts"]:
                build(part, tensor)
    except (AssertionError, ValueError, ZeroDivisionError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


config = VllmConfig()
config.model_config = SimpleNamespace(dtype=torch.bfloat16)  # all that the layers look at
with set_current_vllm_config(config):
    answers = [answer(case) for case in json.load(sys.stdin)]
json.dump(answers, sys.stdout)
