"""Simulated nodes: what the presets for accelerator and fabric say of one, in racks and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from ci.sim.component import load
from ci.sim.folders import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUES = REPOSITORY / "values"
RACK = "example.com/rack"
BLOCK = "example.com/block"
POOL = "example.com/pool"


@dataclass(frozen=True)
class Kind:
    """What presets say of one node."""

    name: str
    accelerator: str
    devices: dict[str, str]
    labels: dict[str, str]


def presets(folder: str) -> list[str]:
    """Names of the presets of the repository, of ``accelerators`` or of ``fabrics``."""
    return sorted(file.stem for file in (VALUES / folder).glob("*.yaml"))


def preset(folder: str, name: str) -> Path:
    """File of a preset; a name that ends in ``.yaml`` is a file itself."""
    return Path(name) if name.endswith(".yaml") else VALUES / folder / f"{name}.yaml"


def read(accelerator: Path, fabric: Path | None = None) -> Kind:
    """Read presets, which are values files of the serving chart, for what a node must have to run their pods.

    Raises
    ------
    ValueError
        A file is not there, or the accelerator's does not say how many devices a node has.
    """
    values: dict[str, Any] = {}
    for file in filter(None, (accelerator, fabric)):
        if not file.is_file():
            raise ValueError(f"{file}: no such preset")
        values |= yaml.safe_load(file.read_text()) or {}
    group = values.get("group") or {}
    if "gpusPerNode" not in group:
        raise ValueError(f"{accelerator} sets no group.gpusPerNode, so it cannot describe a node")
    resource = group.get("resourceName", "nvidia.com/gpu")
    devices = {resource: str(group["gpusPerNode"])}
    if rdma := (values.get("network") or {}).get("rdma"):
        devices[rdma["resource"]] = str(rdma["count"])
    limits = (values.get("resources") or {}).get("limits") or {}
    devices |= {name: str(amount) for name, amount in limits.items() if name.startswith("hugepages-")}
    labels = (values.get("pod") or {}).get("nodeSelector") or {}
    return Kind(name=accelerator.stem, accelerator=resource, devices=devices, labels=dict(labels))


def build(kind: Kind, count: int, per_rack: int = 2, racks_per_block: int = 2) -> Iterator[dict[str, Any]]:
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
        taints = [{"key": kind.accelerator, "value": "present", "effect": "NoSchedule"}]
        yield node(f"gpu-{index}", {**kind.labels, **place}, kind.devices, taints)
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
                "kubeletVersion": load("kubernetes").version(),
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "",
                "systemUUID": "",
            },
        },
    }
