"""A simulated cluster as Argo CD's: its parts are processes on this machine."""

from __future__ import annotations

import subprocess
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

from ci.gitops.hub import cluster_secret
from ci.sim import pki
from ci.sim.api import Api, administrator

if TYPE_CHECKING:
    from ci.sim.cluster import Cluster


class Simulated:
    """A running cluster of ``ci.sim`` with the add-on argocd."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @property
    def ports(self) -> dict[str, int]:
        """Ports of its processes on this machine."""
        ports: dict[str, int] = self.cluster.state["ports"]
        return ports

    def api(self) -> closing[Api]:
        """Open a connection to its API server."""
        return closing(Api(administrator(self.ports["kube-apiserver"], self.cluster.folder / "pki")))

    def argocd(self) -> closing[Api]:
        """Open a connection to Argo CD's own API server, which asks nobody who he is."""
        return closing(Api(HTTPConnection("127.0.0.1", self.ports["argocd-server"], timeout=30)))

    def serve(self, name: str) -> tuple[str, str]:
        """Make an empty repository where its Git server finds it; anybody here may push."""
        folder = self.cluster.folder / "git" / f"{name}.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", folder], check=True)
        address = f"git://127.0.0.1:{self.ports['git']}/{name}.git"
        return address, address

    def restart(self, part: str) -> None:
        """End a process and start it again."""
        self.cluster.restart(part)

    def revive(self) -> None:
        """Do what a kubelet does: kube-scheduler ends when its cache is corrupted."""
        self.cluster.revive()

    def lost(self) -> list[str]:
        """Name the processes that ended."""
        return [one.name for one in self.cluster.processes if not one.alive]


def secret(other: Cluster, name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Give the Secret that makes another simulated cluster known to Argo CD, as ``argocd cluster add`` does."""
    folder = other.folder / "pki"
    tls = {
        "caData": pki.authority(folder),
        "certData": pki.encoded(folder / "admin.crt"),
        "keyData": pki.encoded(folder / "admin.key"),
    }
    server = f"https://127.0.0.1:{other.state['ports']['kube-apiserver']}"
    return cluster_secret(name, server, {"tlsClientConfig": tls}, labels)
