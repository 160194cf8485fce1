"""What Argo CD says of its Applications, in the cluster where it runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ci.gitops.hub import NAMESPACE
from ci.sim.api import ApiError, NotFoundError

if TYPE_CHECKING:
    from ci.gitops.hub import Hub

OURS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}"


@dataclass(frozen=True)
class Health:
    """One object of an Application as Argo CD judges it; the message is what its page shows."""

    kind: str
    name: str
    status: str
    message: str


class ArgoCD:
    """Argo CD in a cluster."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    def applications(self) -> dict[str, dict[str, Any]]:
        """All Applications by name."""
        with self.hub.api() as api:
            return {item["metadata"]["name"]: item for item in api.get(f"{OURS}/applications")["items"]}

    def create(self, item: dict[str, Any]) -> None:
        """Create an object of Argo CD's own API."""
        with self.hub.api() as api:
            api.create(f"{OURS}/{item['kind'].lower()}s", item)

    def register(self, secret: dict[str, Any]) -> None:
        """Make a cluster known by its Secret."""
        with self.hub.api() as api:
            api.apply(f"/api/v1/namespaces/{NAMESPACE}/secrets/{secret['metadata']['name']}", secret)

    def remove(self, application: str) -> None:
        """Delete an Application with all that it made."""
        path = f"{OURS}/applications/{application}"
        with self.hub.api() as api:
            api.merge(path, {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}})
            api.call("DELETE", path)

    def refresh(self, application: str) -> None:
        """Have an Application compared with Git now, as a push event from a Git host does."""
        note = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
        with self.hub.api() as api:
            api.merge(f"{OURS}/applications/{application}", note)

    def generate(self) -> None:
        """Have every ApplicationSet read Git now, as a push event does."""
        note = {"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}
        with self.hub.api() as api:
            for item in api.get(f"{OURS}/applicationsets")["items"]:
                with suppress(NotFoundError):  # the commit before may have taken it away by now
                    api.merge(f"{OURS}/applicationsets/{item['metadata']['name']}", note)

    def step(self, application: str) -> str:
        """Say how far a rolling sync is with an Application: ``Waiting``, ``Pending``, ``Progressing``, ``Healthy``."""
        with self.hub.api() as api:
            sets = api.get(f"{OURS}/applicationsets")["items"]
        states = [state for item in sets for state in item.get("status", {}).get("applicationStatus") or []]
        return next((str(state["status"]) for state in states if state["application"] == application), "")

    def tree(self, application: str) -> list[Health]:
        """List the objects of an Application that have a health, also those that controllers made for it."""
        try:
            with self.hub.argocd() as argocd:
                nodes = argocd.get(f"/api/v1/applications/{application}/resource-tree").get("nodes") or []
        except ApiError:
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
        with self.hub.argocd() as argocd:
            argocd.create(f"/api/v1/applications/{application}/resource/actions/v2", body)


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
