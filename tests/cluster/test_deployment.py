"""The stack ``deployment``: one pod is one replica, and Kubernetes alone runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.release import images, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest, Release


def one_node(**changes: Any) -> Manifest:
    """Values of two replicas of one 8-GPU node each."""
    return two_nodes(
        **{"stack": {"name": "deployment"}, "group": {"nodes": 1, "gpusPerNode": 8}, "replicas": 2, **changes}
    )


def test_every_pod_is_a_leader_behind_the_service(release: Release) -> None:
    """The contract says rank 0 of 1, whose leader is the pod itself."""
    release.apply(one_node())

    pods = release.ready(2)
    names = sorted(pod["metadata"]["name"] for pod in pods)
    environment = {each["name"]: each for each in pods[0]["spec"]["containers"][0]["env"]}

    assert names == eventually("endpoints", lambda: found if len(found := release.endpoints()) == 2 else None)
    assert ("0", "1") == tuple(environment[name]["value"] for name in ("LOCKSTEP_NODE_RANK", "LOCKSTEP_NODE_COUNT"))


@pytest.mark.usefixtures("simulation")
def test_a_new_image_replaces_one_replica_after_the_other(release: Release, tmp_path: Path) -> None:
    """With models that are slow to be Ready, one of two always answers."""
    slow = {"annotations": {"sim/ready-delay": "3s"}}
    release.apply(one_node(pod=slow, engine={"name": "vllm", "version": "0.32.0"}))
    release.ready(2)
    fewest = 2

    with release.recorded(tmp_path) as created:
        release.apply(one_node(pod=slow, engine={"name": "vllm", "version": "0.33.0"}))

        def rolled() -> bool:
            nonlocal fewest
            fewest = min(fewest, len(release.endpoints()))
            pods = release.pods()
            return (
                len(release.endpoints()) == 2 == len([pod for pod in pods if "vllm/vllm-openai:v0.33.0" in images(pod)])
            )

        eventually("the new image", rolled)

    assert 2 == len(created)
    assert 1 == fewest


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"group": {"nodes": 1, "gpusPerNode": 4}}, id="GPUs of a node"),
        pytest.param({"pod": {"tolerations": {"spot": {"key": "spot", "operator": "Exists"}}}}, id="tolerations"),
    ],
)
def test_a_change_goes_through(release: Release, change: dict[str, Any]) -> None:
    """A Deployment freezes nothing that values can change."""
    release.apply(one_node())
    release.ready(2)
    before = release.uids()

    release.apply(one_node(**change))
    pods = release.replaced(before, 2)

    assert 1 == len({pod["metadata"]["labels"]["pod-template-hash"] for pod in pods})
