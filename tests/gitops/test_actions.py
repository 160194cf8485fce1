"""The buttons that ``argocd/actions`` adds to Argo CD's page do what they say, and Git does not undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.queues import queue_of
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest
    from tests.gitops.model import Model


def act(model: Model, action: str, item: Manifest) -> None:
    """Press the button as soon as Argo CD knows the object, which it shows a moment after it is there."""
    kind, name = item["kind"], item["metadata"]["name"]
    eventually(f"{name} in Argo CD", lambda: name in {each.name for each in model.tree(kind)})
    model.fleet.argocd.act(model.application, item, action)


def waiting(model: Model) -> set[str]:
    """Names of the pods that have no node."""
    return {pod["metadata"]["name"] for pod in model.release.pods() if "nodeName" not in pod["spec"]}


def test_restart_replaces_every_group_once(model: Model, tmp_path: Path) -> None:
    """Each pod once, as by a change in Git; Argo CD sees no drift in what the action wrote."""
    model.until("Healthy", revision=model.commit(two_nodes(replicas=2)))
    before = model.release.uids()

    with model.release.recorded(tmp_path) as created:
        act(model, "restart", model.release.one("leaderworkersets", model.name))
        model.release.replaced(before, 4)
        after = model.release.settled()
    model.fleet.argocd.refresh(model.application)
    model.until("Healthy")

    assert sorted(before) == sorted(created)
    assert after == model.release.settled()


@pytest.mark.usefixtures("kueue")
def test_evict_and_admit_take_one_group_out_and_back(model: Model) -> None:
    """Kueue gates the pods of that group, gives its GPUs to others, and lets it in again when it is told to."""
    model.presets = ()  # the queue has quota for GPUs and nothing else
    model.cluster.kubectl(f"create namespace {model.release.namespace}", output_format="")
    with queue_of(model.release, 32):
        model.until("Healthy", revision=model.commit(two_nodes(replicas=2, queue={"manager": "kueue"})))
        first, second = model.release.group(0), model.release.group(1)
        workload = next(each for each in model.release.get("workloads") if "-0-" in each["metadata"]["name"])

        act(model, "evict", workload)
        eventually("the group to be gated", lambda: waiting(model) == set(first))
        stayed = model.release.group(1)
        act(model, "admit", workload)
        model.release.ready(4)
        back, rest = model.release.group(0), model.release.group(1)

    assert second == stayed == rest
    assert first.keys() == back.keys()
    assert set(first.values()).isdisjoint(back.values())
