"""Proves which lists of devices pass, each library by its own rules, and which name nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.checks.network import device_lists
from lockstep.inputs import Input
from lockstep.release import build

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.findings import Finding

HCA, SOCKET, UCX = "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "UCX_NET_DEVICES"


def findings(folder: Path, path: str, name: str, given: object) -> list[Finding]:
    """Check a release with one variable."""
    values = {
        "model": {"id": "a/b"},
        "engine": {"name": "vllm"},
        "stack": {"name": "lws"},
        "group": {"nodes": 2, "gpusPerNode": 8},
    }
    section, _ = path.split(".")
    values[section] = values.get(section, {}) | {"env": {name: given}}
    file = folder / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    release = Input(file, (), share.folder("charts") / "serving", "demo", "default")
    return list(device_lists(build(release, release.values())))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (HCA, "mlx5"),
        (HCA, "mlx5_0,mlx5_3"),
        (HCA, "=mlx5_0:1,mlx5_1:1"),
        (HCA, "^=mlx5_1,mlx5_4"),
        (HCA, "^mlx5_1:2"),
        (HCA, "mlx5_0::0:0,mlx5_1:1:-1"),
        (HCA, "mlx5_bond_0,rocep1s0f0,ibp65s0,bnxt_re-bond0"),
        (HCA, "mlx5_0,"),
        (HCA, ""),
        (HCA, None),
        (HCA, 5),
        (HCA, "$(DEVICES)"),
        (SOCKET, "eth"),
        (SOCKET, "^lo,docker0"),
        (SOCKET, "=eth0,bond0.100"),
        (SOCKET, "^=docker0"),
        (UCX, "all"),
        (UCX, "mlx5_0:1,eth0"),
        (UCX, "^mlx5_2:1"),
    ],
)
def test_lists_that_a_library_reads(tmp_path: Path, name: str, given: object) -> None:
    """The forms of NCCL's guide, names as kernels and drivers give them, and what is not ours to read."""
    assert [] == findings(tmp_path, "network.env", name, given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (HCA, "mlx5_0, mlx5_1"),
        (HCA, " mlx5_0"),
        (HCA, "mlx5_0 mlx5_1"),
        (HCA, "mlx5_0;mlx5_1"),
        (HCA, "mlx5_*"),
        (HCA, "=mlx5_0,=mlx5_1"),
        (HCA, "^mlx5_0,^mlx5_1"),
        (HCA, "=^mlx5_0"),
        (HCA, "mlx5_0:one"),
        (HCA, "^"),
        (SOCKET, "eth0, eth1"),
        (SOCKET, "!docker0"),
        (SOCKET, "^lo,^docker0"),
        (UCX, "=mlx5_0:1"),
        (UCX, "mlx5_0:1, mlx5_1:1"),
    ],
)
def test_lists_with_a_name_that_no_device_has(tmp_path: Path, name: str, given: str) -> None:
    """Spaces, wildcards and marks in the middle are part of a name to these libraries; the message shows the list."""
    (finding,) = findings(tmp_path, "engine.env", name, given)

    assert ("NET006", f"engine.env.{name}") == (finding.code, finding.path)
    assert f'"{given}"' in finding.message
