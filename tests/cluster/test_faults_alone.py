"""What a fault costs on stacks that know no groups: the one pod, which the supervisor joins to its group again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.faults import SOON, allowed, evict, lost_node
from tests.cluster.queues import queue_of
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("simulation")

VALUES: dict[str, Manifest] = {
    "kueue": two_nodes(stack={"name": "kueue"}, replicas=2),
    "deployment": two_nodes(stack={"name": "deployment"}, group={"nodes": 1, "gpusPerNode": 8}, replicas=4),
}


@pytest.fixture(params=VALUES)
def stack(request: pytest.FixtureRequest, api_groups: set[str]) -> str:
    """Name a stack that the cluster has the controllers for."""
    if request.param == "kueue" and "kueue.x-k8s.io" not in api_groups:
        pytest.skip("the cluster has no Kueue (simulated: python -m ci.sim build kueue)")
    return str(request.param)


@pytest.fixture
def four(release: Release, stack: str) -> Iterator[Release]:
    """Give a release of four pods, slow to be Ready, that leave a lost node at once."""
    pod = {"annotations": {"sim/ready-delay": "2s"}, "tolerations": {"unreachable": SOON}}
    with queue_of(release, 32):
        release.apply({**VALUES[stack], "pod": pod})
        release.ready(4)
        yield release


def test_a_deleted_pod_comes_back_alone(four: Release, stack: str, tmp_path: Path) -> None:
    """One new pod, of the same name where names are ranks."""
    before = four.uids()
    lost = sorted(before)[-1]

    with four.recorded(tmp_path) as created:
        four.delete_pod(lost)
        four.replaced({lost: before[lost]}, 4)
        four.settled()

    assert 1 == len(created)
    assert (stack == "kueue") == (created == [lost])


def test_a_restarted_container_replaces_no_pod(four: Release) -> None:
    """Its supervisor joins the group again under the rank that it had."""
    before = four.uids()
    pod = sorted(before)[0]

    four.annotate(pod, "sim/restarts=1")
    eventually("a restart", lambda: four.one("pods", pod)["status"]["containerStatuses"][0]["restartCount"] == 1)

    assert before == four.settled()


def test_one_eviction_at_a_time(four: Release) -> None:
    """While one pod is away no other may go: not of its group, which is away as a whole, and not of another."""
    first, *others = sorted(four.uids())
    eventually("a counted budget", lambda: allowed(four))

    granted = evict(four, first)
    refused = [evict(four, other) for other in others]
    four.ready(4)

    assert "" == granted
    assert ["violate the pod's disruption budget" in words for words in refused] == [True, True, True]


def test_a_lost_node_costs_its_pod(four: Release, stack: str) -> None:
    """A rank comes back when the node is declared out of service; a pod without a rank at once, elsewhere."""
    pod = four.pods()[0]
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    others = {key: uid for key, uid in four.uids().items() if key != name}
    with lost_node(four, node, name):
        eventually("the pod to be evicted", lambda: "deletionTimestamp" in four.one("pods", name)["metadata"])
        held = set(four.settled()) - set(others)
        four.cluster.kubectl(f"taint node {node} node.kubernetes.io/out-of-service=yes:NoExecute", output_format="")
        pods = four.ready(4)

    assert (1 if stack == "kueue" else 2) == len(held)
    assert node not in {each["spec"]["nodeName"] for each in pods}
    assert others.items() <= four.uids().items()
