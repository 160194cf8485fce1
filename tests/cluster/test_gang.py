"""Quota is for whole groups: each waits whole, starts whole and is preempted whole, on both stacks that Kueue admits.

Kueue counts a group, and the scheduler then places its pods: no group is ever half placed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.queues import queue_of, queues_of, set_quota
from tests.cluster.release import GROUP, two_nodes
from tests.cluster.waiting import calm, eventually

if TYPE_CHECKING:
    from tests.cluster.release import Manifest, Release

pytestmark = [
    pytest.mark.usefixtures("lws", "kueue"),
    pytest.mark.parametrize("stack", ["lws", "kueue"]),
]


def values(stack: str, **changes: Any) -> Manifest:
    """Values of groups of two 8-GPU nodes that wait for Kueue."""
    return two_nodes(**{"stack": {"name": stack}, "queue": {"manager": "kueue"}, **changes})


def of_class(name: str) -> Manifest:
    """Values of a place in the queue of charts/queues, with a priority."""
    return {"manager": "kueue", "name": "serving", "priorityClass": name}


def placed(release: Release) -> dict[str, int]:
    """Pods that have a node, by the group they belong to; a group without any is left out."""
    found: dict[str, int] = {}
    for pod in release.pods():
        labels = pod["metadata"]["labels"]
        group = labels.get(GROUP, labels.get("lockstep/group"))
        if "nodeName" in pod["spec"]:
            found[group] = found.get(group, 0) + 1
    return found


def test_of_two_groups_one_runs_and_one_waits_whole(release: Release, stack: str) -> None:
    """Quota for one and a half groups is quota for one; the rest of it places nobody."""
    with queue_of(release, 24):
        release.apply(values(stack, replicas=2))
        eventually("four pods", lambda: len(release.pods()) == 4)
        waiting = calm("the pods", lambda: placed(release))
        set_quota(release, 32)
        release.ready(4)

    assert [2] == list(waiting.values())


def test_freed_quota_admits_the_group_that_waits(release: Release, stack: str) -> None:
    """The second release is there, and starts by itself when the first is removed."""
    second = replace(release, name="second")
    with queue_of(release, 16):
        release.apply(values(stack))
        release.ready(2)
        second.apply(values(stack))
        eventually("two pods that wait", lambda: len(second.pods()) == 2)
        waiting = calm("the pods", lambda: placed(second))

        release.uninstall()
        second.ready(2)
        second.uninstall()

    assert {} == waiting


@pytest.mark.usefixtures("cluster_wide")
def test_priority_preempts_a_whole_group_and_no_other(release: Release, stack: str) -> None:
    """A serving group takes the place of one group of a batch release that fills the queue; the other runs on."""
    urgent = replace(release, name="urgent")
    with queues_of(release):
        release.apply(
            values(stack, replicas=2, queue={"manager": "kueue", "name": "serving", "priorityClass": "batch"})
        )
        release.ready(4)
        before = set(release.uids().values())

        urgent.apply(values(stack, queue=of_class("serving")))
        urgent.ready(2)
        after = calm("the pods", lambda: placed(release))
        stayed = before & set(release.uids().values())

    assert [2] == list(after.values())
    assert 2 == len(stayed)
