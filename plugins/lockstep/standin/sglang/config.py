"""What SGLang makes of its flags, and the combinations it refuses (sglang/srt/arg_groups/*_hook.py of 0.5.23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.standin.layout import ConfigError, Layout, Shape, fingerprint

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.settings import Settings

# Flags that may differ between the nodes of one group.
PER_NODE = "node_rank host port api_key admin_api_key log_level log_level_http served_model_name"


def layout(arguments: argparse.Namespace, chosen: Settings) -> Layout:
    """Derive the layout.

    Raises
    ------
    ConfigError
        For what SGLang asserts, with its words.
    """
    given = vars(arguments)
    tensor, pipeline = arguments.tp_size or 1, arguments.pp_size or 1
    nodes, node_rank = arguments.nnodes or 1, arguments.node_rank or 0
    world, model = tensor * pipeline, arguments.model_path
    shape = Shape.of(model, chosen)
    replicas, attention = arguments.dp_size or 1, given.get("attn_dp_size") or 1
    if arguments.enable_dp_attention:
        replicas, attention = 1, max(replicas, attention)
    _must(world % nodes == 0, "tp_size must be divisible by number of nodes")
    _must(
        replicas == 1 or nodes == 1,
        "multi-node data-parallel replicas are not supported; use attention DP (--attn-dp-size) across nodes",
    )
    _must(tensor % attention == 0, "tp_size must be divisible by attn_dp_size * attn_cp_size")
    _must(pipeline % nodes == 0 or nodes % pipeline == 0, "nnodes and pp_size do not divide each other")
    served = arguments.served_model_name or model
    _must(":" not in served, "served_model_name cannot contain a colon (':') character")
    if shape.heads and shape.heads % (tensor // attention):
        raise ConfigError(f"AssertionError: {shape.heads} is not divisible by {tensor // attention}")
    address = arguments.dist_init_addr or "127.0.0.1:20000"
    host, _, port = address.rpartition(":")
    return Layout(
        model=model,
        served=(served,),
        context=arguments.context_length or shape.context,
        tensor=tensor,
        pipeline=pipeline,
        world=world,
        first=node_rank * (world // nodes),
        local=world // nodes,
        node_rank=node_rank,
        master=(host.strip("[]"), int(port)),
        fingerprint=fingerprint(given, PER_NODE),
    )


def _must(true: bool, message: str) -> None:
    if not true:
        raise ConfigError(f"AssertionError: {message}")
