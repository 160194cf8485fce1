"""charts/queues on a cluster: a group of charts/serving is admitted by it into one rack, with its RDMA devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.clusters import PRESETS
from tests.cluster.queues import queues_of
from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("kueue", "lws", "cluster_wide")

# Labels of the simulated nodes, and of those of ci/kind/cluster.yaml.
RACKS = ("example.com/rack", "lockstep/rack")


@pytest.fixture
def nodes(release: Release) -> dict[str, dict[str, str]]:
    """Labels of the nodes by name."""
    found = release.cluster.kubectl("get nodes")
    return {node["metadata"]["name"]: node["metadata"]["labels"] for node in found}


@pytest.fixture
def rack(nodes: dict[str, dict[str, str]]) -> str:
    """Name the label that says in which rack a node is."""
    known = {label for labels in nodes.values() for label in labels}
    if not known.intersection(RACKS):
        pytest.skip(f"no node has a label {' or '.join(RACKS)}: --cluster-type sim or kind")
    return known.intersection(RACKS).pop()


@pytest.fixture
def queued(release: Release, rack: str) -> Iterator[Release]:
    """Give a release whose namespace has a queue of charts/queues that knows racks."""
    with queues_of(release, topology={"levels": [rack, "kubernetes.io/hostname"]}):
        yield release


@pytest.mark.parametrize("stack", ["kueue", "lws"])
def test_a_group_is_admitted_into_one_rack(
    queued: Release, nodes: dict[str, dict[str, str]], rack: str, simulated: bool, stack: str
) -> None:
    """Two groups of two nodes, each in a rack of two nodes; the simulated ones have RDMA, and the groups ask for it."""
    asked = {"stack": {"name": stack}, "queue": {"manager": "kueue", "priorityClass": "serving"}}
    queued.apply(two_nodes(replicas=2, topology=rack, **asked), *(PRESETS if simulated else ()))
    pods = queued.ready(4)
    label = "lockstep/group" if stack == "kueue" else "leaderworkerset.sigs.k8s.io/group-index"
    racks: dict[str, set[str]] = {}
    for pod in pods:
        place = nodes[pod["spec"]["nodeName"]][rack]
        racks.setdefault(pod["metadata"]["labels"][label], set()).add(place)

    assert [1, 1] == [len(found) for found in racks.values()]
