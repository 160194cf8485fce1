"""A node can be drained: the budget lets one group go at a time, and never stands in the way of a sick one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.faults import allowed, evict
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("lws", "simulation")


def test_while_one_group_is_away_no_other_may_go(release: Release) -> None:
    """The first eviction takes a whole group; a second group's pod stays until that one is Ready again."""
    release.apply(two_nodes(replicas=2, pod={"annotations": {"sim/ready-delay": "8s"}}))
    release.ready(4)
    eventually("a counted budget", lambda: allowed(release))

    first = evict(release, "model-1-1")
    second = evict(release, "model-0-1")
    release.ready(4)
    eventually("the budget to be free again", lambda: allowed(release))
    third = evict(release, "model-0-1")

    assert "" == first
    assert "violate the pod's disruption budget" in second
    assert "" == third


def test_a_group_that_is_not_ready_may_go_whole(release: Release) -> None:
    """It serves nobody: both of its pods are evicted although the budget allows one."""
    release.apply(two_nodes(pod={"annotations": {"sim/not-ready": "true"}}))
    eventually("two pods to run", lambda: ["Running"] * 2 == [pod["status"]["phase"] for pod in release.pods()])

    assert ["", ""] == [evict(release, "model-0-1"), evict(release, "model-0")]
