"""Faults that take more than one command: an eviction, a lost node."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Release

# A toleration of a pod that is to leave a lost node at once.
SOON = {
    "key": "node.kubernetes.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 1,
}


def evict(release: Release, pod: str) -> str:
    """Ask for the eviction of a pod, as ``kubectl drain`` does; empty when it is granted."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": release.namespace}}
    path = f"/api/v1/namespaces/{release.namespace}/pods/{pod}/eviction"
    command = ["kubectl", "--kubeconfig", str(release.cluster.kube_config_path), "create", "--raw", path, "-f", "-"]
    done = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def allowed(release: Release) -> int:
    """Evictions that the budget would grant now."""
    return int(
        release.one("poddisruptionbudgets", f"{release.name}-pdb").get("status", {}).get("disruptionsAllowed", 0)
    )


@contextmanager
def lost_node(release: Release, node: str, pod: str) -> Iterator[None]:
    """Lose a node with the pod on it, and bring it back afterwards."""
    release.annotate(pod, "sim/lost=true")
    release.cluster.kubectl(f"annotate node {node} sim/lost=true")
    try:
        yield
    finally:
        release.cluster.kubectl(f"annotate node {node} sim/lost-")
        taints = release.one("nodes", node)["spec"]["taints"]
        if any(taint["key"] == "node.kubernetes.io/out-of-service" for taint in taints):
            release.cluster.kubectl(f"taint node {node} node.kubernetes.io/out-of-service-", output_format="")
