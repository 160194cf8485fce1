"""Nothing is lost when a part of Argo CD, or the API server below it, restarts in the middle of a sync."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from ci.sim.ready import answers

from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from ci.sim.cluster import Cluster as Simulated

    from tests.gitops.model import Model

SLOW = {"annotations": {"sim/ready-delay": "3s"}}
PARTS = (
    "argocd-redis",
    "argocd-repo-server",
    "argocd-application-controller",
    "argocd-applicationset-controller",
    "git",
)


@pytest.mark.parametrize("part", PARTS)
def test_a_restart_in_mid_sync_loses_nothing(model: Model, hub: Simulated, part: str) -> None:
    """The commit arrives whole, each group rolls, and the next commit is followed as before."""
    model.until("Healthy", revision=model.commit(two_nodes(replicas=2, pod=SLOW)))
    before = model.release.uids()
    revision = model.commit(two_nodes(replicas=2, pod=SLOW, engine={"name": "vllm", "args": {"max-num-seqs": 64}}))
    eventually("the first pod to go", lambda: before != model.release.uids())

    hub.restart(part)
    model.until("Healthy", revision=revision)
    after = {pod["metadata"]["uid"] for pod in model.release.replaced(before, 4)}
    model.until("Healthy", revision=model.commit(two_nodes(replicas=1, pod=SLOW)))

    assert set(before.values()).isdisjoint(after)
    assert all(one.alive for one in hub.processes)


def test_a_restart_of_the_api_server_loses_no_commit(model: Model, hub: Simulated) -> None:
    """What was pushed just before is applied whole, and so is the next commit.

    The pods are not asked: in the middle of a rollout LeaderWorkerSet 0.8 on its own may leave a group without workers
    when the API server goes away, also under Helm.
    """
    model.until("Healthy", revision=model.commit(two_nodes()))
    revision = model.commit(two_nodes(engine={"name": "vllm", "args": {"max-num-seqs": 64}}))

    hub.restart("kube-apiserver")
    api = f"https://127.0.0.1:{hub.state['ports']['kube-apiserver']}/readyz"
    eventually("the API server", lambda: answers(api, hub.folder / "pki" / "ca.crt"))
    model.synced(revision)
    stored = json.dumps(model.release.one("leaderworkersets", model.name)["spec"])
    model.synced(model.commit(two_nodes(replicas=2)))

    assert "max-num-seqs" in stored
    assert 2 == model.release.one("leaderworkersets", model.name)["spec"]["replicas"]
    assert all(one.alive for one in hub.processes)
