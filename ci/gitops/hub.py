"""What the suite, the demo and the benchmark need of the cluster that Argo CD runs in, whichever it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from contextlib import closing

    from ci.sim.api import Api

NAMESPACE = "argocd"
API_SERVER = "kube-apiserver"


class Hub(Protocol):
    """A cluster with Argo CD. Every connection is a new one, so that it may outlive restarts of everything."""

    def api(self) -> closing[Api]:
        """Open a connection to its API server."""

    def argocd(self) -> closing[Api]:
        """Open a connection to Argo CD's own API server."""

    def serve(self, name: str) -> tuple[str, str]:
        """Make an empty Git repository, and give the address to push to and the one that Argo CD reads."""

    def restart(self, part: str) -> None:
        """End a part of Argo CD, its Git server (``git``) or ``kube-apiserver``, and have it started again."""

    def revive(self) -> None:
        """Start again what has ended by itself, where nobody else does."""

    def lost(self) -> list[str]:
        """Name the parts that do not run."""


def cluster_secret(name: str, server: str, config: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Give the Secret by which Argo CD knows a cluster."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "cluster", **labels},
        },
        "stringData": {"name": name, "server": server, "config": json.dumps(config)},
    }
