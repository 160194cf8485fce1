"""What a lost pod, a crashed container and a lost node cost: the one group, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.faults import SOON, lost_node
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("lws")


def test_a_deleted_worker_recreates_its_group_only(release: Release, tmp_path: Path) -> None:
    """The leader of the same group is replaced too, once; the other group keeps its pods.

    The workers' StatefulSet may put back the worker before LeaderWorkerSet takes the group away, so that one may come
    twice.
    """
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    other, lost = release.group(0), release.group(1)

    with release.recorded(tmp_path) as created:
        release.delete_pod("model-1-1")
        release.replaced(lost, 4)
        release.settled()

    assert {"model-1", "model-1-1"} == set(created)
    assert 1 == created.count("model-1")
    assert other == release.group(0)


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize("pod", ["model-1", "model-1-1"], ids=["leader", "worker"])
def test_a_restarted_container_recreates_its_group_only(release: Release, tmp_path: Path, pod: str) -> None:
    """The supervisor has given up, kubelet restarts the container, and LeaderWorkerSet takes the group anew."""
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    other, lost = release.group(0), release.group(1)

    with release.recorded(tmp_path) as created:
        release.annotate(pod, "sim/restarts=1")
        release.replaced(lost, 4)
        release.settled()

    assert ["model-1", "model-1-1"] == sorted(created)
    assert other == release.group(0)


def test_with_replace_a_deleted_worker_comes_back_alone(release: Release, tmp_path: Path) -> None:
    """``onPodLoss: replace`` leaves the group to the supervisor: one new pod, the leader stays."""
    release.apply(two_nodes(stack={"name": "lws", "lws": {"onPodLoss": "replace"}}))
    release.ready(2)
    before = release.uids()

    with release.recorded(tmp_path) as created:
        release.delete_pod("model-0-1")
        release.replaced({"model-0-1": before["model-0-1"]}, 2)
        release.settled()

    assert ["model-0-1"] == created
    assert before["model-0"] == release.uids()["model-0"]


def test_a_deleted_leader_recreates_its_group_only(release: Release) -> None:
    """LeaderWorkerSet 0.8 may do it twice (kubernetes-sigs/lws#804); the group ends Ready and the other never moves."""
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    other, lost = release.group(0), release.group(1)

    release.delete_pod("model-1")
    release.replaced(lost, 4)
    release.settled()
    release.ready(4)

    assert other == release.group(0)
    assert set(lost.values()).isdisjoint(release.group(1).values())


@pytest.mark.usefixtures("simulation")
def test_a_lost_node_holds_its_group_until_it_is_declared_out_of_service(release: Release) -> None:
    """Nobody confirms that the pod there has ended, so its group may not come back beside it (kubernetes-sigs/lws#508).

    The taint ``node.kubernetes.io/out-of-service`` is the administrator's word that it has.
    """
    release.apply(two_nodes(replicas=2, pod={"tolerations": {"unreachable": SOON}}))
    node = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in release.ready(4)}["model-1-1"]
    other, lost = release.group(0), release.group(1)
    with lost_node(release, node, "model-1-1"):
        eventually("the pod to be evicted", lambda: "deletionTimestamp" in release.one("pods", "model-1-1")["metadata"])
        release.settled()
        held = release.group(1)

        release.cluster.kubectl(f"taint node {node} node.kubernetes.io/out-of-service=yes:NoExecute", output_format="")
        pods = release.ready(4)

    assert lost["model-1-1"] == held["model-1-1"]
    assert node not in {pod["spec"]["nodeName"] for pod in pods}
    assert set(lost.values()).isdisjoint(release.group(1).values())
    assert other == release.group(0)
