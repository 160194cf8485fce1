"""Stack kueue: a set for each group, whose name changes with what would not change in place, and with nothing else."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from .rendering import CHART, Object, Rendered, render, values

if TYPE_CHECKING:
    from pathlib import Path

BASE = values({"stack": {"name": "kueue"}, "replicas": 2})
QUEUE = "kueue.x-k8s.io/queue-name"


def revision(*layers: Object) -> str:
    """Give the revision in the names of a release's sets, which all have the same."""
    (found,) = {item["metadata"]["name"].rpartition("-")[2] for item in render(values(BASE, *layers)).stack()}
    return found


def sets(rendered: Rendered) -> list[str]:
    """Give the names of the sets without their revision."""
    return [item["metadata"]["name"].rpartition("-")[0] for item in rendered.stack()]


@pytest.mark.parametrize("replicas", [0, 1, 3])
def test_each_group_is_a_set(replicas: int) -> None:
    """And scaling touches the name of none."""
    rendered = render(values(BASE, {"replicas": replicas}))

    assert [f"r1-{group}" for group in range(replicas)] == sets(rendered)
    assert {("Service", "r1-peers"), ("Service", "r1-api")} <= rendered.names()
    assert {item["metadata"]["name"].rpartition("-")[2] for item in rendered.stack()} <= {revision()}


def test_a_set_starts_all_its_ranks_and_names_them_before_they_are_ready() -> None:
    """OrderedReady would wait for a leader that waits for the others."""
    rendered = render(BASE)
    (peers,) = (item for item in rendered.objects if item["metadata"]["name"] == "r1-peers")
    for item in rendered.stack():
        spec = item["spec"]
        pod = spec["template"]["metadata"]["labels"]

        assert (2, "Parallel", "OnDelete") == (
            spec["replicas"],
            spec["podManagementPolicy"],
            spec["updateStrategy"]["type"],
        )
        assert {"lockstep/group": item["metadata"]["name"]} == spec["selector"]["matchLabels"]
        assert spec["selector"]["matchLabels"].items() <= pod.items()
        assert "r1-peers" == spec["serviceName"]
        assert peers["spec"]["selector"].items() <= pod.items()
    assert ("None", True) == (peers["spec"]["clusterIP"], peers["spec"]["publishNotReadyAddresses"])


def test_rank_and_leader_come_from_the_labels_of_the_pod() -> None:
    """One template makes all ranks, so nothing in it may differ between them."""
    env = render(BASE).env("member")

    assert {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}} == env["LOCKSTEP_NODE_RANK"]
    assert {"fieldRef": {"fieldPath": "metadata.labels['lockstep/group']"}} == env["LOCKSTEP_SET"]
    assert "serving/$(LOCKSTEP_SET)" == env["LOCKSTEP_GROUP"]
    assert "$(LOCKSTEP_SET)-0.r1-peers.serving" == env["LOCKSTEP_LEADER_ADDRESS"]
    assert "2" == env["LOCKSTEP_NODE_COUNT"]


def test_requests_go_to_rank_0() -> None:
    """By the number that Kubernetes gives the pods."""
    (service,) = (item for item in render(BASE).objects if item["metadata"]["name"] == "r1-api")

    assert {"lockstep/release": "r1", "apps.kubernetes.io/pod-index": "0"} == service["spec"]["selector"]


def test_the_queue_is_named_on_the_set_alone() -> None:
    """kubernetes-sigs/kueue#10965: a label on the pods gets in the way."""
    rendered = render(values(BASE, {"queue": {"name": "research", "priorityClass": "high"}}))
    for item in rendered.stack():
        labels = item["metadata"]["labels"]

        assert ("research", "high") == (labels[QUEUE], labels["kueue.x-k8s.io/priority-class"])
        assert not [key for key in item["spec"]["template"]["metadata"]["labels"] if key.startswith("kueue")]
    assert {"serving"} == {item["metadata"]["labels"][QUEUE] for item in render(BASE).stack()}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"engine": {"args": {"max-model-len": 1024}}}, id="arguments"),
        pytest.param({"group": {"nodes": 4}, "parallelism": {"pipeline": 4}}, id="nodes"),
        pytest.param({"group": {"gpusPerNode": 4}, "parallelism": {"tensor": 4}}, id="GPUs"),
        pytest.param({"queue": {"name": "other"}}, id="queue"),
        pytest.param({"queue": {"priorityClass": "high"}}, id="priority"),
        pytest.param({"pod": {"tolerations": {"spot": {"key": "spot"}}}}, id="toleration"),
    ],
)
def test_a_change_of_the_group_is_another_name(change: Object) -> None:
    """Kubernetes makes the new set and removes the old one; nothing is left to change in place."""
    assert revision() != revision(change)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"replicas": 5}, id="replicas"),
        pytest.param({"service": {"port": 80}}, id="service"),
        pytest.param({"networkPolicy": {"enabled": False}}, id="policy"),
        pytest.param({"disruption": {"maxUnavailable": 2}}, id="budget"),
    ],
)
def test_any_other_change_keeps_the_name(change: Object) -> None:
    """A group that serves is left alone."""
    assert revision() == revision(change)


def test_a_new_version_of_the_chart_keeps_the_name(tmp_path: Path) -> None:
    """Labels of the chart's version are on the sets, not in their pods."""
    copy = tmp_path / "serving"
    shutil.copytree(CHART, copy)
    file = copy / "Chart.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("version: 0.1.0", "version: 9.9.9"), encoding="utf-8")

    assert render(BASE).stack()[0]["metadata"]["name"] == render(BASE, chart=copy).stack()[0]["metadata"]["name"]
