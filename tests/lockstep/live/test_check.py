"""Objects are held against a cluster: shapes of nodes, taints, quotas and Pod Security levels, with the numbers.

Each code's own examples (tests/lockstep/test_codes.py) prove that it is found and not found; here are the edges.
"""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.live.check import check
from lockstep.live.cluster import Cluster
from tests.lockstep.live.fake import Fake

GPU = "nvidia.com/gpu"
TOLERATED = {"key": "a", "operator": "Exists"}
RIGHTS = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def node(gpus: int = 8, taint: str = "", labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Make a node."""
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return {
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels or {}},
        "spec": {"taints": taints, **more},
        "status": {"allocatable": {GPU: str(gpus)}},
    }


def deployment(
    security: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **pod: Any
) -> dict[str, Any]:
    """Make a Deployment of one pod with eight GPUs."""
    container = {"name": "c", "securityContext": security or {}, "resources": {"limits": {GPU: 8, **(limits or {})}}}
    template = {"spec": {"containers": [container], **pod}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}}


def found(item: dict[str, Any], *cluster: dict[str, Any], forbidden: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Give codes and messages."""
    fake = Fake(objects=list(cluster), forbidden=forbidden)
    return [(finding.code, finding.message) for finding in check([item], "default", Cluster(fake))]


@pytest.mark.parametrize(
    ("expected", "item", "nodes"),
    [
        pytest.param(None, deployment(), [node()], id="fits"),
        pytest.param(None, deployment(), [node(4), node(16)], id="one of them fits"),
        pytest.param("1 offer 4 nvidia.com/gpu where 8 are asked for", deployment(), [node(4)], id="too few GPUs"),
        pytest.param("none of the 0 nodes", deployment(), [], id="no nodes"),
        pytest.param("2 have the taint a=:NoSchedule", deployment(), [node(taint="a"), node(taint="a")], id="taint"),
        pytest.param(None, deployment(tolerations=[{"operator": "Exists"}]), [node(taint="a")], id="tolerates all"),
        pytest.param(None, deployment(tolerations=[TOLERATED]), [node(taint="a")], id="key"),
        pytest.param(
            "the taint a=:NoSchedule",
            deployment(tolerations=[{**TOLERATED, "effect": "NoExecute"}]),
            [node(taint="a")],
            id="tolerates another effect",
        ),
        pytest.param("1 have the taint cordoned", deployment(), [node(unschedulable=True)], id="cordoned"),
        pytest.param("1 lack the label k=v", deployment(nodeSelector={"k": "v"}), [node()], id="no label"),
        pytest.param(None, deployment(nodeSelector={"k": "v"}), [node(labels={"k": "v"})], id="right label"),
        pytest.param(
            "1 offer 0 rdma/hca where 1 are asked for", deployment(limits={"rdma/hca": 1}), [node()], id="no RDMA"
        ),
    ],
)  # fmt: skip
def test_nodes(expected: str | None, item: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    """What keeps the pods from the nodes is said, and how many of the nodes it concerns."""
    said = [message for code, message in found(item, *nodes) if code == "CLU003"]

    assert bool(expected) == bool(said), said
    assert (expected or "") in "".join(said)


@pytest.mark.parametrize(
    ("level", "item", "reason"),
    [
        pytest.param("restricted", deployment(RIGHTS), None, id="restricted"),
        pytest.param("baseline", deployment(), None, id="baseline"),
        pytest.param("restricted", deployment(), "no runAsNonRoot", id="root"),
        pytest.param("restricted", deployment({**RIGHTS, "seccompProfile": {}}), "no seccomp profile", id="seccomp"),
        pytest.param("restricted", deployment({**RIGHTS, "capabilities": {}}), "does not drop ALL", id="capabilities"),
        pytest.param("baseline", deployment(hostNetwork=True), "hostNetwork: true", id="host network"),
        pytest.param("baseline", deployment({"privileged": True}), "c is privileged", id="privileged"),
        pytest.param("baseline", deployment({"capabilities": {"add": ["IPC_LOCK"]}}), "adds IPC_LOCK", id="locked"),
        pytest.param("baseline", deployment(volumes=[{"name": "v", "hostPath": {}}]), "host path", id="path"),
        pytest.param("privileged", deployment(hostNetwork=True), None, id="all is allowed"),
    ],
)  # fmt: skip
def test_pod_security(level: str, item: dict[str, Any], reason: str | None) -> None:
    """The level that the namespace enforces, what the pods need, and why."""
    space = {
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"pod-security.kubernetes.io/enforce": level}},
    }
    said = [message for code, message in found(item, node(), space) if code == "CLU009"]

    assert bool(reason) == bool(said), said
    assert (reason or "") in "".join(said)


def test_a_kind_in_another_version_is_named() -> None:
    """The versions that are there are in the message."""
    crd = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "leaderworkersets.leaderworkerset.x-k8s.io"},
        "spec": {
            "group": "leaderworkerset.x-k8s.io",
            "names": {"kind": "LeaderWorkerSet", "plural": "leaderworkersets"},
            "versions": [{"name": "v1alpha1"}],
        },
    }
    item = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "l"}}

    (only,) = found(item, crd)

    assert only[0] == "CLU001"
    assert "it has leaderworkerset.x-k8s.io/v1alpha1" in only[1]


def test_what_may_not_be_read_is_said_once() -> None:
    """Nodes that this user may not list are a gap, not a fault of the nodes."""
    assert ["CLU012"] == [code for code, _ in found(deployment(RIGHTS), forbidden=("nodes",))]


def test_a_device_of_any_name_is_asked_of_the_nodes() -> None:
    """An accelerator of a vendor that Lockstep has no row for."""
    item = deployment(limits={GPU: 0, "example.com/npu": 4})

    assert [
        "none of the 1 nodes takes a leader with 4 example.com/npu: 1 offer 0 example.com/npu where 4 are asked for"
    ] == [message for _, message in found(item, node())]


@pytest.mark.parametrize(("expected", "name"), [(0, "mine"), (1, "other")], ids=["the one", "another"])
def test_a_queue_may_come_with_the_release(expected: int, name: str) -> None:
    """Of ``extraObjects``, for one: the namespace has none before."""
    item = deployment()
    item["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "mine"}
    queue = {"kind": "LocalQueue", "metadata": {"name": name}, "spec": {"clusterQueue": "all"}}
    names = {"kind": "LocalQueue", "plural": "localqueues"}
    kueue = {"group": "kueue.x-k8s.io", "names": names, "versions": [{"name": "v1beta2"}]}
    cluster = Cluster(Fake(objects=[node(), {"kind": "CustomResourceDefinition", "metadata": {}, "spec": kueue}]))
    codes = [finding.code for finding in check([item, queue], "default", cluster)]

    assert expected == codes.count("CLU005")
