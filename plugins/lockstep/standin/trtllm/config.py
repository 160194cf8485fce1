"""What ``trtllm-serve`` makes of its flags, and the sizes it refuses (tensorrt_llm/mapping.py)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lockstep.standin.layout import ConfigError, Layout, Shape

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.settings import Settings

# What trtllm-llmapi-launch leaves for the server that it starts. The real address is one of the loopback interface, and
# the ranks speak MPI; those of the stand-in come to this address themselves.
SPAWNED = "TLLM_SPAWN_PROXY_PROCESS"
ADDRESS = "TLLM_SPAWN_PROXY_PROCESS_IPC_ADDR"
WORLD = "tllm_mpi_size"


def layout(arguments: argparse.Namespace, chosen: Settings) -> Layout:
    """Derive the layout: all ranks below this server, or those of the MPI job.

    Raises
    ------
    ConfigError
        For sizes that do not fit each other or the job.
    """
    tensor, pipeline = arguments.tensor_parallel_size or 1, arguments.pipeline_parallel_size or 1
    world = tensor * pipeline * (arguments.context_parallel_size or 1)
    expert = arguments.moe_expert_parallel_size or 1
    if tensor % expert:
        raise ConfigError(f"ValueError: moe_tp_size * moe_ep_size must be tp_size ({tensor}), ep_size is {expert}")
    shape = Shape.of(arguments.model, chosen)
    spawned = os.environ.get(SPAWNED) == "1"
    job = int(os.environ.get(WORLD, "1"))
    if spawned and job != world:
        raise ConfigError(f"ValueError: the MPI job has {job} ranks, but tp_size * pp_size * cp_size is {world}")
    address = urlsplit(os.environ.get(ADDRESS, ""))
    own = arguments.model.rstrip("/").rpartition("/")[2] if arguments.model.startswith("/") else arguments.model
    return Layout(
        model=arguments.model,
        served=(getattr(arguments, "served_model_name", None) or own,),
        context=arguments.max_seq_len or shape.context,
        tensor=tensor,
        pipeline=pipeline,
        world=world,
        first=0,
        local=0 if spawned else world,
        node_rank=0,
        master=(address.hostname or "127.0.0.1", address.port or 0),
        fingerprint="",
    )
