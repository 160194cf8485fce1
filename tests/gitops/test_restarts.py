"""Nothing is lost when a part of Argo CD, or the API server below it, restarts in the middle of a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ci.sim.ready import answers

from tests.cluster import waiting
from tests.cluster.release import is_ready, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from ci.sim.cluster import Cluster as Simulated

    from tests.gitops.model import Model

SLOW = {"annotations": {"sim/ready-delay": "3s"}}
PARTS = (
    "argocd-redis",
    "argocd-repo-server",
    "argocd-server",
    "argocd-application-controller",
    "argocd-applicationset-controller",
    "git",
    "kube-apiserver",
)
# Every watch of every controller tries again on its own, after up to 60 s (client-go's reflector: 800 ms, doubled up to
# 30 s, and up to as much again at random). LeaderWorkerSet makes no workers while it sees the new leaders and still the
# old StatefulSets.
RECONNECTED = 300.0  # seconds


@pytest.mark.timeout(4 * RECONNECTED)
@pytest.mark.parametrize("part", PARTS)
def test_a_restart_in_mid_sync_loses_nothing(
    model: Model, hub: Simulated, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit arrives whole, each group rolls, and the next commit is followed as before."""
    model.until("Healthy", revision=model.commit(two_nodes(replicas=2, pod=SLOW)))
    before = model.release.uids()
    revision = model.commit(two_nodes(replicas=2, pod=SLOW, engine={"name": "vllm", "args": {"max-num-seqs": 64}}))
    eventually("the first pod to go", lambda: before != model.release.uids())

    hub.restart(part)
    api = f"https://127.0.0.1:{hub.state['ports']['kube-apiserver']}/readyz"
    eventually("the API server", lambda: answers(api, hub.folder / "pki" / "ca.crt"))
    monkeypatch.setattr(waiting, "LIMIT", RECONNECTED)

    def rolled() -> set[str]:
        hub.revive()  # a pod that is made anew while the API server is away can end kube-scheduler
        pods = model.release.pods()
        uids = {pod["metadata"]["uid"] for pod in pods if is_ready(pod)}
        return uids if len(pods) == len(uids) == 4 and uids.isdisjoint(before.values()) else set()

    after = eventually("four new pods", rolled)
    model.until("Healthy", revision=revision)
    model.until("Healthy", revision=model.commit(two_nodes(replicas=1, pod=SLOW)))

    assert after.isdisjoint(before.values())
    assert all(one.alive for one in hub.processes)
