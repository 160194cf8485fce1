"""Stack grove: Grove makes the groups and KAI places them. Needs both; their objects alone: ``test_definitions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.release import images, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest, Release


@pytest.fixture(autouse=True)
def controllers(kube_cluster: Cluster, api_groups: set[str]) -> None:
    """Skip without Grove and KAI: a definition of a kind makes no pod, so Grove is known by its webhook."""
    served = {"Grove": "grove.io" in api_groups and runs(kube_cluster), "KAI": "scheduling.run.ai" in api_groups}
    if missing := [name for name, there in served.items() if not there]:
        pytest.skip(f"the cluster has no {' and no '.join(missing)}: --cluster-type existing, on a cluster with both")


def runs(cluster: Cluster) -> bool:
    """Whether Grove's webhook is there."""
    configurations = cluster.kubectl("get validatingwebhookconfigurations")
    return any(hook["name"].endswith(".grove.io") for each in configurations for hook in each.get("webhooks") or [])


def values(**changes: Any) -> Manifest:
    """Values of two groups of two nodes on this stack."""
    return two_nodes(**{"stack": {"name": "grove"}, "replicas": 2, **changes})


def groups(release: Release) -> dict[str, dict[str, str]]:
    """UIDs of the pods by role, by the group that Grove counts them to."""
    found: dict[str, dict[str, str]] = {}
    for pod in release.pods():
        labels = pod["metadata"]["labels"]
        group = found.setdefault(labels["grove.io/podcliqueset-replica-index"], {})
        group[labels["lockstep/role"]] = pod["metadata"]["uid"]
    return found


def test_groups_form_and_their_leaders_serve(release: Release) -> None:
    """A leader and a worker in each; only leaders are behind the Service."""
    release.apply(values())
    pods = release.ready(4)
    leaders = sorted(pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"]["lockstep/role"] == "leader")

    assert [{"leader", "worker"}, {"leader", "worker"}] == [set(group) for group in groups(release).values()]
    assert leaders == eventually("endpoints", lambda: found if len(found := release.endpoints()) == 2 else None)


def test_replicas_add_and_remove_whole_groups(release: Release) -> None:
    """From one group to two and back: the pods of the first stay."""
    release.apply(values(replicas=1))
    release.ready(2)
    before = groups(release)["0"]

    release.apply(values(replicas=2))
    release.ready(4)
    grown = groups(release)["0"]
    release.apply(values(replicas=1))
    release.ready(2)

    assert before == grown == groups(release)["0"]


def test_a_deleted_worker_comes_back_alone(release: Release, tmp_path: Path) -> None:
    """Grove keeps the leader; the supervisor joins the new worker to it."""
    release.apply(values())
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in release.ready(4)}
    lost = next(name for name in before if "-worker-" in name)

    with release.recorded(tmp_path) as created:
        release.delete_pod(lost)
        release.replaced({lost: before[lost]}, 4)
        release.settled()

    assert 1 == len(created)
    assert 3 == len(before.keys() & release.uids().keys())


def test_a_new_image_replaces_whole_groups(release: Release, tmp_path: Path) -> None:
    """Every pod once, and no old image is left."""
    release.apply(values(engine={"name": "vllm", "version": "0.32.0"}))
    release.ready(4)

    with release.recorded(tmp_path) as created:
        release.apply(values(engine={"name": "vllm", "version": "0.33.0"}))
        pods = release.ready(4, image="vllm/vllm-openai:v0.33.0")
        release.settled()

    assert 4 == len(created)
    assert {"vllm/vllm-openai:v0.33.0"} == set().union(*(images(pod) for pod in pods))


def test_uninstall_leaves_no_pod(release: Release) -> None:
    """Grove takes its own objects away with the set."""
    release.apply(values())
    release.ready(4)

    release.uninstall()

    assert eventually("the pods to go", lambda: not release.pods())
