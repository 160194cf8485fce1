"""What Argo CD says of its Applications, in the cluster where it runs."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ci.sim import pki
from ci.sim.api import Api, NotFoundError

if TYPE_CHECKING:
    from ci.sim.cluster import Cluster

NAMESPACE = "argocd"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
OURS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}"


@dataclass(frozen=True)
class Health:
    """One object of an Application as Argo CD judges it; the message is what its page shows."""

    kind: str
    name: str
    status: str
    message: str


class ArgoCD:
    """Argo CD in a cluster. Each look is a connection of its own, so that it may outlive restarts of everything."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.server = f"http://127.0.0.1:{cluster.state['ports']['argocd-server']}/api/v1"

    def api(self) -> closing[Api]:
        """Open a connection to the API server of its cluster."""
        return closing(Api(self.cluster.state["ports"]["kube-apiserver"], self.cluster.folder / "pki"))

    def applications(self) -> dict[str, dict[str, Any]]:
        """All Applications by name."""
        with self.api() as api:
            return {item["metadata"]["name"]: item for item in api.get(f"{OURS}/applications")["items"]}

    def create(self, item: dict[str, Any]) -> None:
        """Create an object of Argo CD's own API."""
        with self.api() as api:
            api.create(f"{OURS}/{item['kind'].lower()}s", item)

    def refresh(self, application: str) -> None:
        """Have an Application compared with Git now, as a push event from a Git host does."""
        note = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
        with self.api() as api:
            api.merge(f"{OURS}/applications/{application}", note)

    def generate(self) -> None:
        """Have every ApplicationSet read Git now, as a push event does."""
        note = {"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}
        with self.api() as api:
            for item in api.get(f"{OURS}/applicationsets")["items"]:
                with suppress(NotFoundError):  # the commit before may have taken it away by now
                    api.merge(f"{OURS}/applicationsets/{item['metadata']['name']}", note)

    def step(self, application: str) -> str:
        """Say how far a rolling sync is with an Application: ``Waiting``, ``Pending``, ``Progressing``, ``Healthy``."""
        with self.api() as api:
            sets = api.get(f"{OURS}/applicationsets")["items"]
        states = [state for item in sets for state in item.get("status", {}).get("applicationStatus") or []]
        return next((str(state["status"]) for state in states if state["application"] == application), "")

    def tree(self, application: str) -> list[Health]:
        """List the objects of an Application that have a health, also those that controllers made for it."""
        try:
            nodes = self.ask(f"/applications/{application}/resource-tree").get("nodes") or []
        except urllib.error.HTTPError:
            return []  # there is no such Application, or it was never compared
        return [
            Health(node["kind"], node["name"], node["health"]["status"], node["health"].get("message", ""))
            for node in nodes
            if node.get("health")
        ]

    def act(self, application: str, item: dict[str, Any], action: str) -> None:
        """Run an action on an object of an Application, as the button on Argo CD's page does."""
        group, _, version = item["apiVersion"].rpartition("/")
        metadata = item["metadata"]
        body = {"namespace": metadata["namespace"], "resourceName": metadata["name"], "kind": item["kind"]}
        body |= {"group": group, "version": version, "action": action}
        self.ask(f"/applications/{application}/resource/actions/v2", body)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask Argo CD's own API server, whose objects are not the cluster's."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            content: dict[str, Any] = json.load(answer)
        return content


def sync(application: dict[str, Any]) -> str:
    """Say ``Synced``, ``OutOfSync`` or ``Unknown``; nothing before the first comparison."""
    return str(application.get("status", {}).get("sync", {}).get("status", ""))


def health(application: dict[str, Any]) -> str:
    """Say ``Healthy``, ``Progressing``, ``Degraded`` or more; nothing before the first look."""
    return str(application.get("status", {}).get("health", {}).get("status", ""))


def messages(application: dict[str, Any]) -> list[str]:
    """List what its page shows as errors: conditions, and the outcome of the last sync."""
    status = application.get("status", {})
    found = [condition["message"] for condition in status.get("conditions") or []]
    if message := status.get("operationState", {}).get("message"):
        found.append(message)
    return found


def register(hub: ArgoCD, other: Cluster, name: str, labels: dict[str, str]) -> None:
    """Make another simulated cluster known to Argo CD by a Secret, as ``argocd cluster add`` does."""
    folder = other.folder / "pki"
    tls = {
        "caData": pki.authority(folder),
        "certData": pki.encoded(folder / "admin.crt"),
        "keyData": pki.encoded(folder / "admin.key"),
    }
    server = f"https://127.0.0.1:{other.state['ports']['kube-apiserver']}"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": "cluster", **labels}},
        "stringData": {"name": name, "server": server, "config": json.dumps({"tlsClientConfig": tls})},
    }
    with hub.api() as api:
        api.apply(f"{CORE}/secrets/{name}", secret)
