"""charts/queues on a cluster: a group of charts/serving is admitted by it, with its RDMA devices and in one rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.clusters import PRESETS
from tests.cluster.queues import queues_of
from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("kueue", "lws", "simulation")


@pytest.fixture
def queued(release: Release) -> Iterator[Release]:
    """Give a release whose namespace has a queue of charts/queues; racks are the simulation's."""
    with queues_of(release, topology={"levels": ["example.com/rack", "kubernetes.io/hostname"]}):
        yield release


@pytest.mark.parametrize("stack", ["kueue", "lws"])
def test_a_group_is_admitted_into_one_rack(queued: Release, stack: str) -> None:
    """Two groups of two nodes with RDMA, each in a rack of two nodes."""
    asked = {"stack": {"name": stack}, "queue": {"manager": "kueue", "priorityClass": "serving"}}
    queued.apply(two_nodes(replicas=2, topology="example.com/rack", **asked), *PRESETS)
    pods = queued.ready(4)
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in queued.cluster.kubectl("get nodes")}
    label = "lockstep/group" if stack == "kueue" else "leaderworkerset.sigs.k8s.io/group-index"
    racks: dict[str, set[str]] = {}
    for pod in pods:
        rack = nodes[pod["spec"]["nodeName"]]["example.com/rack"]
        racks.setdefault(pod["metadata"]["labels"][label], set()).add(rack)

    assert [1, 1] == [len(found) for found in racks.values()]
