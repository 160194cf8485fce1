"""A kubectl for tests that answers from a file of objects: as a program in a process of its own, or in this one.

It serves Kubernetes' own kinds and those of the CustomResourceDefinitions in the file. As a program it finds the file
by ``LOCKSTEP_FAKE_CLUSTER``, writes each call to ``<file>.calls``, and refuses what ``LOCKSTEP_FAKE_FORBIDDEN`` lists.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lockstep.live.kubectl import Kubectl

OWN = {
    "v1": "configmaps=ConfigMap namespaces=Namespace nodes=Node persistentvolumeclaims=PersistentVolumeClaim pods=Pod "
    "secrets=Secret serviceaccounts=ServiceAccount services=Service",
    "apps/v1": "deployments=Deployment statefulsets=StatefulSet",
    "networking.k8s.io/v1": "networkpolicies=NetworkPolicy",
    "policy/v1": "poddisruptionbudgets=PodDisruptionBudget",
    "scheduling.k8s.io/v1": "priorityclasses=PriorityClass",
    "storage.k8s.io/v1": "storageclasses=StorageClass",
}


@dataclass(frozen=True)
class Fake(Kubectl):
    """A kubectl without a process."""

    program: Path = Path("kubectl")
    objects: list[dict[str, Any]] = field(default_factory=list)
    forbidden: tuple[str, ...] = ()

    def _call(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Answer one call, in the words of a real one."""
        command, *rest = words
        if command == "api-versions":
            return done(sorted({row[0] for row in self.rows()}))
        if command == "api-resources":
            return done(f"{plural} {version} true {kind}" for version, plural, kind in self.rows())
        assert command == "get", words
        plural, _, group = rest[0].partition(".")
        if plural in self.forbidden:
            return done(error=f'Error from server (Forbidden): {plural} is forbidden: User "x" cannot list resource')
        served = [row for row in self.rows() if row[1] == plural and row[0].startswith(f"{group}/" if group else "")]
        if not served:
            return done(error=f'error: the server doesn\'t have a resource type "{plural}"')
        where = rest[rest.index("--namespace") + 1] if "--namespace" in rest else None
        found = [
            item
            for item in self.objects
            if item["kind"] == served[0][2] and where in (None, item["metadata"].get("namespace", "default"))
        ]
        return done([json.dumps({"kind": "List", "items": found})])

    def rows(self) -> list[tuple[str, str, str]]:
        """List version, plural and kind of everything that is served."""
        own = [(version, *each.split("=")) for version, kinds in OWN.items() for each in kinds.split()]
        return own + [
            (
                f"{item['spec']['group']}/{version['name']}",
                item["spec"]["names"]["plural"],
                item["spec"]["names"]["kind"],
            )
            for item in self.objects
            if item["kind"] == "CustomResourceDefinition"
            for version in item["spec"]["versions"]
        ]


def done(lines: Any = (), *, error: str = "") -> subprocess.CompletedProcess[str]:
    """Make the answer of a process."""
    return subprocess.CompletedProcess([], int(bool(error)), "\n".join(lines), error)


def main(words: list[str]) -> int:
    """Be the program."""
    file = Path(os.environ["LOCKSTEP_FAKE_CLUSTER"])
    with file.with_suffix(".calls").open("a") as calls:
        calls.write(" ".join(words) + "\n")
    objects = [item for item in yaml.safe_load_all(file.read_text()) if item]
    fake = Fake(objects=objects, forbidden=tuple(os.environ.get("LOCKSTEP_FAKE_FORBIDDEN", "").split(",")))
    answer = fake._call([word for word in words if not word.startswith(("--request-timeout", "--no-headers"))])
    sys.stdout.write(answer.stdout)
    sys.stderr.write(answer.stderr)
    return answer.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
