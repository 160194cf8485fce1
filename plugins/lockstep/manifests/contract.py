"""An engine that the launch scripts of the serving chart start: variables stand in place of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.manifests.command import NAMES, Engine, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK: Final = "LOCKSTEP_ENGINE"
_PARTS: Final = {
    "model": "LOCKSTEP_MODEL",
    "tensor": "LOCKSTEP_TENSOR",
    "pipeline": "LOCKSTEP_PIPELINE",
    "data": "LOCKSTEP_DATA",
    "context": "LOCKSTEP_CONTEXT",
    "nodes": "LOCKSTEP_NODE_COUNT",
    "port": "LOCKSTEP_PORT",
    "executor": "LOCKSTEP_EXECUTOR",
}


def engine(env: Mapping[str, str], rank: int, args: Sequence[str]) -> Engine | None:
    """Give the engine that a container of the chart starts.

    Parameters
    ----------
    env : mapping of str to str
        Variables of the container.
    rank : int
        Rank of its pod.
    args : sequence of str
        Flags beside those that the scripts derive.

    Returns
    -------
    Engine or None
        None if the container is none of the chart's.
    """
    name = env.get(MARK, "")
    if name not in NAMES:
        return None
    names = NAMES[name]
    flags = {names[part][0]: env[key] for part, key in _PARTS.items() if key in env and names.get(part)}
    balancing, experts = env.get("LOCKSTEP_LOAD_BALANCING", "internal"), env.get("LOCKSTEP_EXPERT", "1")
    if experts != "1":
        flags[names["experts"][0]] = "true" if name == "vllm" else experts
    if name == "vllm" and balancing in ("hybrid", "external"):
        flags[names[balancing][0]] = "true"
    elif name == "vllm" and rank:
        flags["headless"] = "true"
    elif name == "sglang":
        flags["enable-dp-attention"] = "true"
    return Engine(name, {**told(name, list(args)).flags, **flags})
