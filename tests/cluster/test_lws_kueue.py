"""LeaderWorkerSet under Kueue: groups are admitted one by one, and what Kueue freezes can be changed all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.queues import queue_of
from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("lws", "kueue")

SLOW = {"annotations": {"sim/ready-delay": "2s"}}


@pytest.fixture
def queued(release: Release) -> Iterator[Release]:
    """Give a release whose namespace has a queue for two groups of two nodes and no more."""
    with queue_of(release, 32):
        yield release


def values(**changes: Any) -> Manifest:
    """Values of two groups of two slow pods that wait for Kueue."""
    return two_nodes(**{"replicas": 2, "pod": SLOW, "queue": {"manager": "kueue"}, **changes})


@pytest.mark.parametrize(
    ("change", "pods"),
    [
        pytest.param({"group": {"nodes": 2, "gpusPerNode": 4}}, 4, id="GPUs of a node"),
        pytest.param({"group": {"nodes": 4, "gpusPerNode": 8}, "replicas": 1}, 4, id="nodes of a group"),
        pytest.param(
            {"pod": {**SLOW, "tolerations": {"spot": {"key": "spot", "operator": "Exists"}}}}, 4, id="tolerations"
        ),
    ],
)
def test_what_kueue_freezes_can_be_changed(queued: Release, change: dict[str, Any], pods: int) -> None:
    """By a set of another name, which waits for the quota of the old one."""
    queued.apply(values())
    queued.ready(4)
    before = set(queued.uids().values())

    queued.apply(values(**change))
    queued.ready(pods)

    assert set() == before & set(queued.settled().values())
    assert 1 == len(queued.get("leaderworkersets"))


def test_a_new_image_rolls_in_place(queued: Release, tmp_path: Path) -> None:
    """Under the quota that the groups have: every pod is replaced once."""
    queued.apply(values())
    queued.ready(4)

    with queued.recorded(tmp_path) as created:
        queued.apply(values(engine={"name": "vllm", "version": "0.32.0"}))
        queued.ready(4, image=queued.image("0.32.0"))
        queued.settled()

    assert 4 == len(created)


def test_the_longest_name_is_admitted(queued: Release) -> None:
    """Kueue puts the names of set and group into a label of each pod, which ends at 63 characters."""
    longest = replace(queued, name="n" * 32)
    longest.apply(values())
    longest.ready(4)
    labels = {label for pod in longest.pods() for label in pod["metadata"]["labels"].values()}
    longest.uninstall()

    assert 63 == max(len(label) for label in labels)
