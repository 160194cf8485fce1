"""Scaling adds and removes whole groups, and the others never notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("lws")


def test_scaling_out_adds_a_whole_group_and_leaves_the_others_alone(release: Release) -> None:
    """From one group to three: four new pods, and the UIDs of the first group stay."""
    release.apply(two_nodes(replicas=1))
    release.ready(2)
    before = release.uids()

    release.apply(two_nodes(replicas=3))
    release.ready(6)

    assert before == release.group(0)
    assert {"model-1", "model-1-1", "model-2", "model-2-1"} == release.uids().keys() - before.keys()


def test_scaling_in_removes_the_last_groups_and_leaves_the_others_alone(release: Release) -> None:
    """From three groups to one: the UIDs of the first group stay."""
    release.apply(two_nodes(replicas=3))
    release.ready(6)
    before = release.group(0)

    release.apply(two_nodes(replicas=1))
    release.ready(2)

    assert before == release.uids()


def test_an_autoscaler_scales_by_groups(release: Release) -> None:
    """The scale subresource counts groups, and its selector finds leaders only: one pod of metrics for each group."""
    release.apply(two_nodes(replicas=1))
    release.ready(2)

    release.cluster.kubectl("scale leaderworkerset model --replicas=2", output_format="", namespace=release.namespace)
    release.ready(4)
    selector = release.one("leaderworkersets", "model")["status"]["hpaPodSelector"]

    assert ["model-0", "model-1"] == sorted(pod["metadata"]["name"] for pod in release.get("pods", selector))
