"""One model of a fleet: committed, looked at, waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ci.gitops.argocd import Health, health, messages, sync
from ci.gitops.fleet import DEPLOYMENTS

from tests.cluster.release import Release
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from ci.gitops.fleet import Fleet
    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest

# Simulated pods take a while to be Ready; real ones do anyway.
SLOW = {"annotations": {"sim/ready-delay": "3s"}}
# Pods that no node takes: their group never becomes Ready.
SICK = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}


@dataclass
class Model:
    """One deployment: a folder in the repository, an Application, a release in a namespace of its own.

    Attributes
    ----------
    presets, site
        Files of the repository's ``values/`` beneath its values: for what it needs, and for the cluster it runs on.
    config
        More of its ``config.yaml``.
    """

    fleet: Fleet
    cluster: Cluster
    name: str
    destination: str = "local"
    presets: tuple[str, ...] = ()
    site: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Its namespace; two destinations may be one cluster."""
        return f"serving-{self.destination}-{self.name}"

    @property
    def folder(self) -> str:
        """Its folder in the repository."""
        return f"{DEPLOYMENTS}/{self.destination}/{self.name}"

    @property
    def application(self) -> str:
        """Name of its Application."""
        return f"{self.destination}.{self.name}"

    @property
    def release(self) -> Release:
        """What runs in its cluster."""
        return Release(self.cluster, self.namespace, name=self.name)

    def write(self, values: Manifest) -> None:
        """Write its two files without a commit."""
        config = {"chart": "HEAD", "namespace": self.namespace, "presets": [*self.presets, *self.site], **self.config}
        self.fleet.deploy(self.destination, self.name, config, values)

    def commit(self, values: Manifest) -> str:
        """Commit values and return the revision."""
        self.write(values)
        return self.fleet.push(f"Deploy {self.name}")

    def look(self) -> Manifest:
        """Its Application as it is now, or an empty object."""
        return self.fleet.argocd.applications().get(self.application, {})

    def until(self, health_: str, *, sync_: str = "Synced", revision: str = "") -> Manifest:
        """Wait until its Application says so, of a revision if one is given, and return it."""
        seen: list[str] = []

        def look() -> Manifest | None:
            found = self.look()
            at = found.get("status", {}).get("sync", {}).get("revisions") or [""]
            seen[:] = [health(found), sync(found), *at, *messages(found)]
            right = (health(found), sync(found)) == (health_, sync_) and (not revision or revision in at)
            return found if right else None

        try:
            return eventually(f"{self.application} to be {health_} and {sync_}", look)
        except AssertionError as error:
            raise AssertionError(f"{error}; the Application says {seen}; its objects: {self.tree()}") from None

    def verdict(self, kind: str) -> tuple[str, str]:
        """Give Argo CD's health and message of the object of a kind that Git has, as of its last comparison."""
        resources = self.look().get("status", {}).get("resources") or []
        found = next((each.get("health", {}) for each in resources if each["kind"] == kind), {})
        return found.get("status", ""), found.get("message", "")

    def tree(self, kind: str = "") -> list[Health]:
        """List its objects with Argo CD's verdict on each, of one kind if one is given."""
        return [each for each in self.fleet.argocd.tree(self.application) if not kind or each.kind == kind]

    def clear(self) -> None:
        """Take everything of it away; its Application would make the namespace again."""
        if (self.fleet.repository.folder / self.folder).is_dir():
            self.fleet.repository.remove(self.folder)
            self.fleet.push(f"Remove {self.name}")
            eventually(f"{self.application} to go", lambda: not self.look())
        self.cluster.kubectl(f"delete namespace {self.namespace} --ignore-not-found --wait=false", output_format="")
