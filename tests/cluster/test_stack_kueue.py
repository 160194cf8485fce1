"""Stack kueue: groups are admitted whole, scale whole, and every change goes through, also with slow pods."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster import server
from tests.cluster.queues import queue_of, set_quota
from tests.cluster.release import two_nodes
from tests.cluster.waiting import calm, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("kueue")

SLOW = {"annotations": {"sim/ready-delay": "2s"}}


@pytest.fixture
def queued(release: Release) -> Iterator[Release]:
    """Give a release whose namespace has a queue for two groups of two nodes and no more."""
    with queue_of(release, 32):
        yield release


def values(**changes: Any) -> Manifest:
    """Values of groups of two slow pods on this stack."""
    return two_nodes(**{"stack": {"name": "kueue"}, "replicas": 2, "pod": SLOW, **changes})


def ranks(release: Release) -> list[str]:
    """Names of the pods without the revision: group and rank."""
    return sorted(re.sub("-[0-9a-f]{6}-", "/", name) for name in release.uids())


def of_group(release: Release, group: int) -> dict[str, str]:
    """UIDs of the pods of one group by name."""
    return {name: uid for name, uid in release.uids().items() if name.startswith(f"{release.name}-{group}-")}


def test_a_group_waits_whole_and_starts_whole(queued: Release) -> None:
    """With quota for one and a half groups the second has no pod on a node; with quota for two both are Ready."""
    set_quota(queued, 24)
    queued.apply(values())
    eventually("four pods", lambda: len(queued.pods()) == 4)
    placed = calm("the pods", lambda: sum("nodeName" in pod["spec"] for pod in queued.pods()))
    set_quota(queued, 32)
    queued.ready(4)

    assert 2 == placed
    assert ["model-0/0", "model-0/1", "model-1/0", "model-1/1"] == ranks(queued)


def test_requests_reach_rank_0_alone(queued: Release) -> None:
    """All pods come from one template, so the Service tells them apart by their number."""
    queued.apply(values())
    queued.ready(4)

    assert [name for name in sorted(queued.uids()) if name.endswith("-0")] == eventually(
        "two endpoints", lambda: found if len(found := queued.endpoints()) == 2 else None
    )


def test_replicas_add_and_remove_whole_groups(queued: Release) -> None:
    """From one group to two and back: the pods of the first stay."""
    queued.apply(values(replicas=1))
    queued.ready(2)
    before = queued.uids()

    queued.apply(values(replicas=2))
    queued.ready(4)
    grown = of_group(queued, 0)
    queued.apply(values(replicas=1))
    queued.ready(2)

    assert before == grown
    assert before == queued.uids()


def test_a_no_op_upgrade_replaces_nothing(queued: Release, tmp_path: Path) -> None:
    """The same values again: no pod is created."""
    queued.apply(values())
    queued.ready(4)

    with queued.recorded(tmp_path) as created:
        queued.apply(values())
        queued.settled()

    assert [] == created


@pytest.mark.parametrize(
    ("change", "pods"),
    [
        pytest.param({"engine": {"name": "vllm", "version": "0.32.0"}}, 4, id="image"),
        pytest.param({"engine": {"name": "vllm", "args": {"max-model-len": 32768}}}, 4, id="engine arguments"),
        pytest.param({"group": {"nodes": 2, "gpusPerNode": 4}}, 4, id="GPUs of a node"),
        pytest.param({"group": {"nodes": 4, "gpusPerNode": 8}, "replicas": 1}, 4, id="nodes of a group"),
        pytest.param(
            {"pod": {**SLOW, "tolerations": {"spot": {"key": "spot", "operator": "Exists"}}}}, 4, id="tolerations"
        ),
        pytest.param({"sharedMemory": {"size": "32Gi"}}, 4, id="shared memory"),
        pytest.param({"queue": {"priorityClass": "high"}}, 4, id="priority"),
    ],
)
def test_a_change_goes_through(queued: Release, tmp_path: Path, change: dict[str, Any], pods: int) -> None:
    """With no quota to spare and no pod that is Ready at once: each new pod is made once, and no old one is left."""
    high = '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"WorkloadPriorityClass","metadata":{"name":"high"},"value":9}'
    queued.cluster.kubectl("apply", std_input=high)
    queued.apply(values())
    queued.ready(4)
    before = set(queued.uids().values())

    with queued.recorded(tmp_path) as created:
        queued.apply(values(**change))
        queued.ready(pods)
        queued.settled()

    assert pods == len(created)
    assert set() == before & set(queued.uids().values())


def test_a_lost_pod_is_replaced_under_the_quota_of_its_group(queued: Release) -> None:
    """Alone and under its own name; the supervisor joins it to its group again."""
    queued.apply(values())
    queued.ready(4)
    before = queued.uids()
    lost = sorted(before)[1]

    queued.delete_pod(lost)
    eventually("a new pod", lambda: queued.uids().get(lost) not in (None, before[lost]))
    queued.ready(4)
    after = queued.uids()

    assert before.keys() == after.keys()
    assert [lost] == [name for name in before if before[name] != after[name]]


def test_the_longest_name_is_admitted(queued: Release) -> None:
    """Kueue puts the name of the set into a label of each pod, which ends at 63 characters."""
    longest = replace(queued, name="n" * 36)
    longest.apply(values())
    longest.ready(4)
    labels = {label for pod in longest.pods() for label in pod["metadata"]["labels"].values()}
    longest.uninstall()

    assert 63 == max(len(label) for label in labels)


def test_uninstall_leaves_nothing(queued: Release) -> None:
    """Not the Workloads that Kueue made for its groups either, so their quota is free again."""
    before = server.everything(queued.cluster, queued.namespace)
    queued.apply(values())
    queued.ready(4)
    meanwhile = {kind for kind, _ in server.everything(queued.cluster, queued.namespace)}

    queued.uninstall()

    assert "Workload" in meanwhile
    assert eventually("the rest to go", lambda: server.everything(queued.cluster, queued.namespace) == before)
