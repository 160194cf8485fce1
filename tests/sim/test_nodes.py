"""Simulated nodes hold what an accelerator preset says, tainted and placed in racks and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ci.sim import nodes

if TYPE_CHECKING:
    from pathlib import Path


def test_a_preset_becomes_nodes(tmp_path: Path) -> None:
    """Devices, taint and labels come from the values file that a user lays beneath his own."""
    preset = tmp_path / "mi300x-8.yaml"
    preset.write_text("group: {gpusPerNode: 8, resourceName: amd.com/gpu}\npod: {nodeSelector: {pool: mi300x}}\n")

    made = list(nodes.build(nodes.read(preset), 5))
    last = made[4]

    assert ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "cpu-0"] == [node["metadata"]["name"] for node in made]
    assert "8" == last["status"]["allocatable"]["amd.com/gpu"]
    assert [{"key": "amd.com/gpu", "value": "present", "effect": "NoSchedule"}] == last["spec"]["taints"]
    assert {"pool": "mi300x", nodes.RACK: "rack-2", nodes.BLOCK: "block-1"}.items() <= last["metadata"][
        "labels"
    ].items()
    assert [] == made[5]["spec"]["taints"]


def test_a_file_that_says_no_number_of_devices_is_refused(tmp_path: Path) -> None:
    """The message names the key."""
    preset = tmp_path / "x.yaml"
    preset.write_text("group: {resourceName: amd.com/gpu}\n")

    with pytest.raises(ValueError, match=r"group\.gpusPerNode"):
        nodes.read(preset)


def test_a_fabric_adds_its_devices(tmp_path: Path) -> None:
    """A pod that asks for RDMA devices and huge pages finds a node that has them."""
    accelerator, fabric = tmp_path / "a.yaml", tmp_path / "f.yaml"
    accelerator.write_text("group: {gpusPerNode: 4}\n")
    fabric.write_text(
        "network: {rdma: {resource: rdma/x, count: 2}}\nresources: {limits: {hugepages-2Mi: 1Gi, memory: 1Gi}}\n"
    )

    found = nodes.read(accelerator, fabric)

    assert {"nvidia.com/gpu": "4", "rdma/x": "2", "hugepages-2Mi": "1Gi"} == found.devices


@pytest.mark.parametrize("fabric", nodes.presets("fabrics"))
@pytest.mark.parametrize("accelerator", nodes.presets("accelerators"))
def test_every_preset_can_be_simulated(accelerator: str, fabric: str) -> None:
    """``make sim`` takes any of them."""
    found = nodes.read(nodes.preset("accelerators", accelerator), nodes.preset("fabrics", fabric))

    assert int(found.devices[found.accelerator]) > 0
