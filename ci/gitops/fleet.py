"""A fleet of one cluster: Argo CD bootstrapped from a fork of this repository, as argocd/README.md says."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml
from ci.gitops.argocd import ArgoCD
from ci.gitops.repository import Repository
from ci.sim.api import NotFoundError
from ci.sim.folders import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from ci.gitops.hub import Hub

DEPLOYMENTS = "argocd/deployments"


class Fleet:
    """Argo CD in a cluster, and the repository that it follows, cloned in ``folder``."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.argocd = ArgoCD(hub)
        self.repository = Repository(hub, "platform", folder)

    def bootstrap(self) -> None:
        """Fork this repository without its models, and apply the one object that is applied by hand."""
        for part in ("argocd", "charts", "values"):
            shutil.copytree(REPOSITORY / part, self.repository.folder / part)
        for part in ("deployments", "queues"):
            self.repository.remove(f"argocd/{part}")
        # The controllers are there: as processes of a simulated cluster, or put there before Argo CD.
        secret = self.read("argocd/clusters/local.yaml")
        labels = secret["metadata"]["labels"]
        secret["metadata"]["labels"] = {name: "false" if text == "true" else text for name, text in labels.items()}
        self.repository.write("argocd/clusters/local.yaml", yaml.safe_dump(secret))
        root = self.read("argocd/bootstrap/root.yaml")
        source = root["spec"]["source"]
        source["repoURL"] = source["helm"]["parameters"][0]["value"] = self.repository.url
        self.repository.write("argocd/bootstrap/root.yaml", yaml.safe_dump(root))
        self.repository.push("Fork")
        self.argocd.create(root)

    def clear(self) -> None:
        """Have Argo CD take back all that followed from that object, but the lines in its own ConfigMap."""
        self.argocd.remove("root")

    def read(self, path: str) -> dict[str, Any]:
        """Read a file of one YAML document in the clone."""
        document: dict[str, Any] = yaml.safe_load((self.repository.folder / path).read_text())
        return document

    def deploy(self, cluster: str, name: str, config: dict[str, Any], values: dict[str, Any]) -> None:
        """Write the two files of a deployment, without a commit."""
        folder = f"{DEPLOYMENTS}/{cluster}/{name}"
        self.repository.write(f"{folder}/config.yaml", yaml.safe_dump(config, sort_keys=False))
        self.repository.write(f"{folder}/values.yaml", yaml.safe_dump(values, sort_keys=False))

    def push(self, subject: str) -> str:
        """Commit, push, and tell Argo CD as a Git host's webhook does; return the revision."""
        revision = self.repository.push(subject)
        self.argocd.generate()
        for name in self.argocd.applications():
            with suppress(NotFoundError):  # the commit may have taken it away by now
                self.argocd.refresh(name)
        return revision
