"""`lockstep check --live` sees a real API server as it is: its kinds, nodes, queues and namespaces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lockstep.cli import main
from tests.cluster.clusters import PRESETS
from tests.cluster.queues import queue_of
from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest, Release


@pytest.fixture
def findings(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Give a function that checks values against the cluster and returns messages by code."""
    monkeypatch.setenv("KUBECONFIG", str(release.cluster.kube_config_path))

    def check(values: Manifest, *presets: Path) -> dict[str, str]:
        file = tmp_path / "model.yaml"
        file.write_text(json.dumps(values))
        beneath = [word for preset in presets for word in ("-f", str(preset))]
        main(["check", str(file), *beneath, "-n", release.namespace, "--live", "--output", "json"])
        found = json.loads(capsys.readouterr().out)["findings"]
        return {each["code"]: each["message"] for each in found if each["code"].startswith("CLU")}

    return check


@pytest.mark.usefixtures("lws", "simulation")
def test_a_release_that_fits_has_no_finding(findings) -> None:
    """The presets of the simulated nodes and the kinds of LeaderWorkerSet."""
    assert {} == findings(two_nodes(), *PRESETS)


@pytest.mark.usefixtures("lws", "simulation")
def test_the_shape_of_nodes_is_seen(findings) -> None:
    """Eight simulated nodes of eight GPUs, and the one without."""
    said = findings(two_nodes(group={"nodes": 2, "gpusPerNode": 16}), *PRESETS)

    assert "none of the 9 nodes takes a leader or worker with 16 nvidia.com/gpu" in said["CLU003"]
    assert "8 offer 8 nvidia.com/gpu where 16 are asked for" in said["CLU003"]


@pytest.mark.usefixtures("lws", "simulation")
def test_more_groups_than_nodes_are_counted(findings) -> None:
    """Five groups of two on eight nodes."""
    assert (
        "10 pods need as many places, and the nodes that take them have 8"
        in findings(two_nodes(replicas=5), *PRESETS)["CLU004"]
    )


def test_a_stack_that_is_not_installed_is_named(findings, api_groups: set[str]) -> None:
    """Grove's kind is unknown where Grove is not."""
    if "grove.io" in api_groups:
        pytest.skip("the cluster has Grove")

    said = findings({**two_nodes(stack={"name": "grove"})}, *PRESETS)

    assert "the cluster serves no PodCliqueSet of grove.io/v1alpha1" in said["CLU001"]


@pytest.mark.usefixtures("kueue")
def test_queue_and_quota_are_seen(findings, release: Release) -> None:
    """No queue, then one with quota for one group of two."""
    values = two_nodes(stack={"name": "kueue"})
    without = findings(values, *PRESETS)
    with queue_of(release, 16):
        one, two = findings(values, *PRESETS), findings({**values, "replicas": 2}, *PRESETS)
        four = findings({**values, "group": {"nodes": 4, "gpusPerNode": 8}}, *PRESETS)

    assert "has no LocalQueue serving" in without["CLU005"]
    assert set() == {"CLU005", "CLU006", "CLU007"} & one.keys()
    assert "ask for 32 nvidia.com/gpu" in two["CLU007"]
    assert "a group asks for 32 nvidia.com/gpu" in four["CLU006"]


def test_a_level_that_refuses_the_pods_is_seen(findings, release: Release) -> None:
    """The namespace enforces restricted, and RDMA pins memory."""
    label = "pod-security.kubernetes.io/enforce=restricted"
    release.cluster.kubectl(f"label namespace {release.namespace} {label}", output_format="")

    said = findings(two_nodes(), *PRESETS)

    assert "container engine adds IPC_LOCK" in said["CLU009"]
