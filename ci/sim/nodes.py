"""Simulated nodes: what an accelerator preset says of one, in racks and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from ci.sim.folders import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRESETS = REPOSITORY / "values" / "accelerators"
RACK = "example.com/rack"
BLOCK = "example.com/block"
POOL = "example.com/pool"


@dataclass(frozen=True)
class Accelerator:
    """One node's share of an accelerator preset."""

    name: str
    resource: str
    per_node: int
    labels: dict[str, str]


def presets() -> list[str]:
    """Names of the presets of the repository."""
    return sorted(file.stem for file in PRESETS.glob("*.yaml"))


def accelerator(file: Path) -> Accelerator:
    """Read a preset, a values file of the serving chart.

    Raises
    ------
    ValueError
        The file does not say how many devices a node has.
    """
    values = yaml.safe_load(file.read_text()) or {}
    group = values.get("group") or {}
    if "gpusPerNode" not in group:
        raise ValueError(f"{file} sets no group.gpusPerNode, so it cannot describe a node")
    return Accelerator(
        name=file.stem,
        resource=group.get("resourceName", "nvidia.com/gpu"),
        per_node=int(group["gpusPerNode"]),
        labels=dict((values.get("pod") or {}).get("nodeSelector") or {}),
    )


def build(kind: Accelerator, count: int, per_rack: int = 2, racks_per_block: int = 2) -> Iterator[dict[str, Any]]:
    """Make ``count`` tainted nodes with accelerators, and one without a taint for everything else.

    Parameters
    ----------
    kind
        What each node holds.
    count
        Nodes with accelerators.
    per_rack, racks_per_block
        How they are placed: node i is in rack i // per_rack.
    """
    for index in range(count):
        rack = index // per_rack
        place = {RACK: f"rack-{rack}", BLOCK: f"block-{rack // racks_per_block}", POOL: kind.name}
        devices = {kind.resource: str(kind.per_node), "rdma/ib": str(kind.per_node)}
        taints = [{"key": kind.resource, "value": "present", "effect": "NoSchedule"}]
        yield node(f"gpu-{index}", {**kind.labels, **place}, devices, taints)
    # Without it the pods of test Jobs and of Deployments without devices stay Pending.
    yield node("cpu-0", {}, {}, [])


def node(name: str, labels: dict[str, str], devices: dict[str, str], taints: list[dict[str, str]]) -> dict[str, Any]:
    """One node object; the status of a new node is kept by the API server."""
    amounts = {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "8Ti", "pods": "110", **devices}
    usual = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**usual, **labels}, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": taints},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "kwok",
                "kernelVersion": "kwok",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.35.4",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "",
                "systemUUID": "",
            },
        },
    }
