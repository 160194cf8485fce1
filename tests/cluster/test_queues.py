"""charts/queues on a cluster: a group of charts/serving is admitted by it, with its RDMA devices and in one rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ci.sim.folders import REPOSITORY

from tests.cluster.clusters import PRESETS
from tests.cluster.release import Release, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Manifest

pytestmark = pytest.mark.usefixtures("kueue", "lws", "simulation")

QUEUES = REPOSITORY / "charts" / "queues"


@pytest.fixture
def queued(release: Release) -> Iterator[Release]:
    """Give a release whose namespace has a queue of charts/queues; racks are the simulation's."""
    pool = {
        "gpusPerNode": 8,
        "cpusPerNode": 100,
        "memoryGiBPerNode": 1024,
        "devicesPerNode": {"rdma/hca_shared_devices_a": 1},
        "nodeLabels": {"example.com/pool": "h200-8"},
    }
    values: Manifest = {
        "manager": "kueue",
        "pools": {"h200": pool},
        "queues": {"serving": {"namespaces": [release.namespace], "nodes": {"h200": 4}}},
        "topology": {"levels": ["example.com/rack", "kubernetes.io/hostname"]},
    }
    queues = Release(release.cluster, release.namespace, QUEUES, "queues")
    queues.apply(values)
    yield release
    release.uninstall()
    eventually("the pods to go", lambda: not release.pods())
    queues.uninstall()
    eventually("the queues to go", lambda: not release.cluster.kubectl("get topologies,clusterqueues,resourceflavors"))


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
