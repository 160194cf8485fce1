"""What Argo CD says of a group is what the group is: waiting, forming, broken or there, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.queues import queue_of, set_quota
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually
from tests.gitops.model import SICK, SLOW

if TYPE_CHECKING:
    from tests.gitops.model import Model

QUEUED = {"queue": {"manager": "kueue"}}


@pytest.mark.usefixtures("kueue")
def test_a_group_that_waits_for_quota_is_progressing_with_the_reason(model: Model) -> None:
    """Kueue's own words stand beside the Workload; when the quota comes the Application becomes Healthy."""
    model.presets = ()  # the queue has quota for GPUs and nothing else
    model.cluster.kubectl(f"create namespace {model.release.namespace}", output_format="")
    with queue_of(model.release, 8):
        revision = model.commit(two_nodes(**QUEUED))
        model.until("Progressing", revision=revision)
        waiting = eventually(
            "Kueue's reason", lambda: [w for w in model.tree("Workload") if "insufficient" in w.message]
        )
        set_quota(model.release, 16)
        model.until("Healthy", revision=revision)

    assert {"Progressing"} == {each.status for each in waiting}
    assert "insufficient quota for nvidia.com/gpu" in waiting[0].message


def test_a_group_that_does_not_come_up_is_degraded_with_the_reason(model: Model) -> None:
    """Longer than its startup probe gives it and half of that again; the message says since when."""
    probe = {"startup": {"periodSeconds": 1, "failureThreshold": 4}}

    model.until("Degraded", revision=model.commit(two_nodes(pod={"probes": probe, **SICK})))
    health, reason = model.verdict("LeaderWorkerSet")
    model.until("Healthy", revision=model.commit(two_nodes()))

    assert "Degraded" == health
    assert reason.startswith("0 of 1 groups are Ready, since ")


def test_a_lost_rank_shows_until_the_group_is_back(model: Model) -> None:
    """One pod that goes makes the group, and so the Application, Progressing until another is Ready in its place."""
    model.until("Healthy", revision=model.commit(two_nodes(pod=SLOW)))
    before = model.release.uids()

    model.release.delete_pod(f"{model.name}-0-1")
    model.until("Progressing")
    model.until("Healthy")

    assert before[f"{model.name}-0-1"] not in model.release.uids().values()
