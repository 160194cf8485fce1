"""An installed release becomes what its values say: pods, names, contract, DNS objects and endpoints.

What is compared is what the API server stored after every webhook, not what Helm rendered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cluster import server
from tests.cluster.clusters import PRESETS
from tests.cluster.release import environment, is_ready, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("lws")


def test_a_group_has_a_leader_and_its_workers_and_becomes_ready(release: Release) -> None:
    """Two replicas of two nodes are four pods, and the LeaderWorkerSet reports two Ready groups."""
    release.apply(two_nodes(replicas=2))

    pods = release.ready(4)
    roles = {pod["metadata"]["name"]: pod["metadata"]["labels"]["lockstep/role"] for pod in pods}

    assert {
        "model-0": "leader",
        "model-0-1": "worker",
        "model-1": "leader",
        "model-1-1": "worker",
    } == roles
    assert 2 == eventually("two Ready groups", lambda: available(release.one("leaderworkersets", "model")))


def test_each_pod_holds_a_whole_node(release: Release) -> None:
    """Each pod asks for the 8 GPUs of its node, so no two share one."""
    release.apply(two_nodes(replicas=2))

    nodes = [pod["spec"]["nodeName"] for pod in release.ready(4)]

    assert 4 == len(set(nodes))


@pytest.mark.usefixtures("simulation")
def test_presets_find_their_nodes(release: Release) -> None:
    """Node selector, devices and huge pages of the presets fit the nodes that were made from them."""
    release.apply(two_nodes(), *PRESETS)

    pods = release.ready(2)
    limits = [engine(pod)["resources"]["limits"] for pod in pods]

    assert {"gpu"} == {pod["spec"]["nodeName"].partition("-")[0] for pod in pods}
    assert ["1", "1"] == [limit["rdma/hca_shared_devices_a"] for limit in limits]


def test_the_contract_reaches_the_pods_as_stored(release: Release) -> None:
    """LeaderWorkerSet puts its variables in front of ours, so that ours resolve, and changes none of them."""
    release.apply(two_nodes())

    pods = release.ready(2)
    stored = [environment(pod) for pod in pods]

    assert [("0", "2"), ("1", "2")] == [(env["LWS_WORKER_INDEX"], env["LWS_GROUP_SIZE"]) for env in stored]
    for pod, env in zip(pods, stored, strict=True):
        order = [variable["name"] for variable in engine(pod)["env"]]
        for ours, theirs in REFERENCES.items():
            assert f"$({theirs})" == env[ours]
            assert order.index(theirs) < order.index(ours)
        assert {"8", "2"} == {env["LOCKSTEP_TENSOR"], env["LOCKSTEP_PIPELINE"]}
        assert f"model-0.model.{release.namespace}" == env["LWS_LEADER_ADDRESS"]


REFERENCES = {
    "LOCKSTEP_NODE_RANK": "LWS_WORKER_INDEX",
    "LOCKSTEP_NODE_COUNT": "LWS_GROUP_SIZE",
    "LOCKSTEP_LEADER_ADDRESS": "LWS_LEADER_ADDRESS",
}


@pytest.mark.usefixtures("simulation")
def test_workers_start_beside_a_leader_that_is_not_ready(release: Release) -> None:
    """A leader is Ready only with all of its ranks, so nothing may wait for it before it makes them."""
    release.apply(two_nodes(leader={"annotations": {"sim/not-ready": "true"}}))

    running = eventually("both to run", lambda: [pod["status"]["phase"] for pod in release.pods()] == ["Running"] * 2)

    assert running
    assert [False, True] == [is_ready(pod) for pod in release.pods()]


def test_the_stored_group_is_the_rendered_one(release: Release) -> None:
    """No webhook and no default of the API server adds to it: Argo CD would see it OutOfSync for ever."""
    release.apply(two_nodes())

    rendered = next(
        item
        for item in yaml.safe_load_all(release.helm("get", "manifest", release.name).stdout)
        if item["kind"] == "LeaderWorkerSet"
    )

    assert rendered["spec"] == release.one("leaderworkersets", "model")["spec"]


def test_every_rank_has_a_name_before_it_is_ready(release: Release) -> None:
    """The headless Service of the group publishes addresses that are not Ready; without it no group can form."""
    release.apply(two_nodes())
    release.ready(2)

    service = release.one("services", "model")
    names = {pod["metadata"]["name"]: (pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in release.pods()}

    assert "None" == service["spec"]["clusterIP"]
    assert service["spec"]["publishNotReadyAddresses"]
    assert {"model-0": ("model-0", "model"), "model-0-1": ("model-0-1", "model")} == names


@pytest.mark.usefixtures("simulation")
def test_the_api_service_reaches_ready_leaders_only(release: Release) -> None:
    """Workers answer no requests; a leader that is not Ready gets none."""
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    whole = eventually("two endpoints", lambda: names if len(names := release.endpoints()) == 2 else None)

    release.annotate("model-1", "sim/not-ready=true")
    sick = eventually("one endpoint", lambda: names if len(names := release.endpoints()) == 1 else None)

    assert ["model-0", "model-1"] == whole
    assert ["model-0"] == sick


def test_helm_test_finds_a_place_beside_the_group(release: Release) -> None:
    """Its pod is admitted, fits a node and ends well; that it asks the group is tested with real processes."""
    release.apply(two_nodes())
    release.ready(2)

    said = release.helm("test", release.name, "--timeout", "60s").stdout

    assert "Succeeded" in said
    assert ["model-0"] == release.endpoints()


def test_uninstall_leaves_nothing(release: Release) -> None:
    """Nothing of a release outlives it but what Kubernetes puts into every namespace."""
    before = server.everything(release.cluster, release.namespace)
    release.apply(two_nodes(replicas=2))
    release.ready(4)

    release.uninstall()

    assert eventually("the rest to go", lambda: server.everything(release.cluster, release.namespace) == before)


def available(group: Manifest) -> int:
    """Ready groups of a LeaderWorkerSet that says it is available, else 0."""
    conditions = {each["type"]: each["status"] for each in group.get("status", {}).get("conditions") or []}
    return int(group["status"].get("readyReplicas", 0)) if conditions.get("Available") == "True" else 0


def engine(pod: Manifest) -> Manifest:
    """Give the engine container of a pod."""
    return next(container for container in pod["spec"]["containers"] if container["name"] == "engine")
