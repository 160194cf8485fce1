"""Nothing is lost when a part of Argo CD, or the API server below it, restarts in the middle of a sync."""

from __future__ import annotations

from http.client import HTTPException
from typing import TYPE_CHECKING

import pytest
from ci.gitops.hub import API_SERVER
from ci.sim.api import ApiError

from tests.cluster import waiting
from tests.cluster.release import is_ready, two_nodes
from tests.cluster.waiting import eventually
from tests.gitops.model import SLOW

if TYPE_CHECKING:
    from ci.gitops.hub import Hub

    from tests.gitops.model import Model

PARTS = (
    "argocd-redis",
    "argocd-repo-server",
    "argocd-server",
    "argocd-application-controller",
    "argocd-applicationset-controller",
    "git",
    API_SERVER,
)
# Every watch of every controller tries again on its own, after up to 60 s (client-go's reflector: 800 ms, doubled up to
# 30 s, and up to as much again at random). LeaderWorkerSet makes no workers while it sees the new leaders and still the
# old StatefulSets.
RECONNECTED = 300.0  # seconds
# In a pod a controller that has lost its lease ends, and its kubelet waits up to 5 minutes before it starts it again.
STARTED_AGAIN = 600.0


@pytest.mark.timeout(3 * STARTED_AGAIN)
@pytest.mark.parametrize("part", PARTS)
def test_a_restart_in_mid_sync_loses_nothing(
    model: Model, hub: Hub, pytestconfig: pytest.Config, simulated: bool, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit arrives whole, each group rolls, and the next commit is followed as before."""
    if part == API_SERVER and pytestconfig.getoption("cluster_type") == "existing":
        pytest.skip("ends the API server: --cluster-type sim or kind")
    model.until("Healthy", revision=model.commit(two_nodes(replicas=2, pod=SLOW)))
    before = model.release.uids()
    revision = model.commit(two_nodes(replicas=2, pod=SLOW, engine={"name": "vllm", "args": {"max-num-seqs": 64}}))
    eventually("the first pod to go", lambda: before != model.release.uids())

    hub.restart(part)
    eventually("the API server", lambda: answers(hub))
    monkeypatch.setattr(waiting, "LIMIT", RECONNECTED if simulated else STARTED_AGAIN)

    def rolled() -> set[str]:
        hub.revive()  # a pod that is made anew while the API server is away can end kube-scheduler
        pods = model.release.pods()
        uids = {pod["metadata"]["uid"] for pod in pods if is_ready(pod)}
        return uids if len(pods) == len(uids) == 4 and uids.isdisjoint(before.values()) else set()

    after = eventually("four new pods", rolled)
    model.until("Healthy", revision=revision)
    model.until("Healthy", revision=model.commit(two_nodes(replicas=1, pod=SLOW)))

    assert after.isdisjoint(before.values())
    assert eventually("every part to run", lambda: not hub.lost())


def answers(hub: Hub) -> bool:
    """Whether the API server is there."""
    try:
        with hub.api() as api:
            return bool(api.get("/version"))
    except (ApiError, OSError, HTTPException):
        return False
