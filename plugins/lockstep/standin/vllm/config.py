"""What vLLM makes of its flags, and the combinations it refuses before it starts (exit code 1)."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from lockstep.standin.layout import ConfigError, Layout, Shape, fingerprint

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.settings import Settings

# Flags that may differ between the ranks of one group; all others shape the model's steps.
PER_RANK = (
    "headless node_rank data_parallel_start_rank host port uds api_key api_server_count "
    "disable_access_log_for_endpoints shutdown_timeout "
    "disable_uvicorn_access_log uvicorn_log_level root_path ssl_keyfile ssl_certfile ssl_ca_certs "
    "enable_log_requests disable_log_requests max_log_len served_model_name"
)


def _refuse(what: str, message: str) -> ConfigError:
    return ConfigError(
        f"pydantic_core._pydantic_core.ValidationError: 1 validation error for {what}\n  Value error, {message}"
    )


def layout(arguments: argparse.Namespace, chosen: Settings) -> Layout:
    """Derive the layout.

    Raises
    ------
    ConfigError
        For the combinations that vLLM 0.32.0 was seen to refuse, in its order.
    """
    given = vars(arguments)

    def number(name: str, default: int) -> int:
        value = given.get(name)
        return default if value is None else int(value)

    model = str(arguments.model_tag or arguments.model or "Qwen/Qwen3-0.6B")
    tensor, pipeline = number("tensor_parallel_size", 1), number("pipeline_parallel_size", 1)
    data, context = number("data_parallel_size", 1), number("prefill_context_parallel_size", 1)
    nodes, node_rank = number("nnodes", 1), number("node_rank", 0)
    world = tensor * pipeline * data * context
    shape = Shape.of(model, chosen)
    _check_nodes(nodes, node_rank, world, given.get("distributed_executor_backend"), pipeline)
    _check_model(shape, tensor, number("max_model_len", -1))
    if any(given.get(f"data_parallel_{each}") for each in ("hybrid_lb", "external_lb", "rank")):
        raise ConfigError("stand-in: hybrid and external load balancing are beyond it; use the real engine")
    if arguments.headless and number("api_server_count", 0) > 0:
        raise ConfigError("ValueError: api_server_count cannot be used with headless mode")
    limit = number("max_model_len", -1)
    local, first = world // nodes, node_rank * (world // nodes)
    master = (str(given.get("master_addr") or "127.0.0.1"), number("master_port", 29501))
    if given.get("data_parallel_address") and nodes == 1:
        # Whole engines on each node: the leader gathers them under another name.
        engine = tensor * pipeline * context
        local = engine * number("data_parallel_size_local", data)
        first = engine * number("data_parallel_start_rank", 0)
        master = (str(given["data_parallel_address"]), number("data_parallel_rpc_port", 29550))
    if given.get("distributed_executor_backend") == "ray":
        local, master = 0, (os.environ.get("VLLM_HOST_IP") or socket.gethostbyname(socket.gethostname()), 0)
    return Layout(
        model=model,
        served=tuple(arguments.served_model_name or [model]),
        context=limit if limit > 0 else shape.context,
        tensor=tensor,
        pipeline=pipeline,
        world=world,
        first=first,
        local=local,
        node_rank=node_rank,
        master=master,
        fingerprint=fingerprint(given, PER_RANK),
    )


def _check_nodes(nodes: int, node_rank: int, world: int, executor: object, pipeline: int) -> None:
    if world % nodes:
        raise _refuse(
            "EngineArgs",
            f"Invalid data-parallel launch options: `--nnodes {nodes}` must evenly divide the total world size "
            f"({world}). Adjust the tensor, pipeline or data parallel size, or `--nnodes`.",
        )
    if not 0 <= node_rank < nodes:
        raise _refuse(
            "ParallelConfig", f"`--node-rank` must be between 0 and {nodes - 1}; got `--node-rank {node_rank}`."
        )
    if nodes > 1 and executor == "ray":
        raise _refuse(
            "ParallelConfig",
            "nnodes > 1 can only be set when distributed executor backend is mp, uni or external_launcher.",
        )
    if pipeline > 1 and executor == "uni":
        raise ConfigError(
            "NotImplementedError: Pipeline Parallelism without Ray distributed executor or multiprocessing executor "
            "or external launcher is not supported."
        )


def _check_model(shape: Shape, tensor: int, max_model_len: int) -> None:
    if shape.heads and shape.heads % tensor:
        raise _refuse(
            "VllmConfig",
            f"Total number of attention heads ({shape.heads}) must be divisible by tensor parallel size ({tensor}).",
        )
    if shape.context and max_model_len > shape.context:
        raise _refuse(
            "ModelConfig",
            f"User-specified max_model_len ({max_model_len}) is greater than the derived max_model_len "
            f"(max_position_embeddings={shape.context} or model_max_length=None in model's config.json).",
        )
