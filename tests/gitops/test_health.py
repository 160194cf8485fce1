"""What Argo CD says of a group is what the group is: waiting, forming, broken or there, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.queues import queue_of, set_quota
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from tests.gitops.model import Model

QUEUED = {"queue": {"manager": "kueue"}}


def test_a_group_that_waits_for_quota_is_progressing_with_the_reason(model: Model) -> None:
    """Kueue's own words stand beside the Workload; when the quota comes the Application becomes Healthy."""
    model.config["presets"] = []  # the queue has quota for GPUs and nothing else
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
    sick = {"annotations": {"sim/not-ready": "true"}, "probes": probe}

    model.until("Degraded", revision=model.commit(two_nodes(pod=sick)))
    health, reason = model.verdict("LeaderWorkerSet")
    model.until("Healthy", revision=model.commit(two_nodes(pod={"probes": probe})))

    assert "Degraded" == health
    assert reason.startswith("0 of 1 groups are Ready, since ")


def test_a_lost_rank_shows_until_the_group_is_back(model: Model) -> None:
    """One pod that is not Ready makes the group, and so the Application, Progressing."""
    model.until("Healthy", revision=model.commit(two_nodes()))

    model.release.annotate(f"{model.name}-0", "sim/not-ready=true")
    model.until("Progressing")
    model.release.annotate(f"{model.name}-0", "sim/not-ready-")

    model.until("Healthy")
