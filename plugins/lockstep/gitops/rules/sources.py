"""Where Applications get their objects: versions, files, and what their project allows."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.gitops.deployed import file_of
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockstep.gitops.applications import Application
    from lockstep.gitops.deployed import Deployed
    from lockstep.gitops.fleet import Fleet
    from lockstep.yamlfile import Value, Values

    Found = Iterator[tuple[Path, Finding]]

_VERSION: Final = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def pinned(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse versions that may mean something else tomorrow."""
    for application in fleet.applications:
        for source in application.sources:
            here = source.repository == fleet.around.repository
            fixed = _VERSION.fullmatch(source.revision) or _COMMIT.fullmatch(source.revision)
            if (source.chart or not here) and not fixed:
                yield (
                    file_of(fleet, application),
                    Finding(
                        "GIT005",
                        "version" if source.chart else "chart",
                        f"{application.name} takes {source.chart or source.path or 'files'} from {source.repository} "
                        f"at `{source.revision}`, which may mean something else tomorrow",
                        "Give a whole version, like 0.10.0, or a commit; not a range, a branch or HEAD.",
                        {"version": source.revision},
                    ),
                )


def files(fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Refuse files that are not there, and revisions of one repository that differ."""
    for each in deployed:
        file = file_of(fleet, each.application)
        for written, looked_for in each.missing:
            yield (
                file,
                Finding(
                    "GIT006",
                    "presets" if written.startswith("../") else "",
                    f"{each.application.name} reads {written}, but {looked_for} is not there",
                    "Name a file that is there, or add it.",
                    {"file": looked_for},
                ),
            )
        source = each.elsewhere
        if source is not None and source.repository == fleet.around.repository:
            yield (
                file,
                Finding(
                    "GIT006",
                    "chart",
                    f"{each.application.name} takes its chart from revision {source.revision} of this repository and "
                    "its values from another: Argo CD takes one revision of a repository at a time",
                    "Set chart: HEAD, or take charts from another repository (charts in the root's parameters).",
                    {"chart": source.revision},
                ),
            )


def projects(fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Refuse what the project of an Application does not allow."""
    by_name = {written.name: table(written.item, "spec") for written in fleet.projects}
    objects = {(each.application.set, each.application.name): each.objects for each in deployed}
    for application in fleet.applications:
        file = file_of(fleet, application)
        if application.project not in by_name:
            if application.project != "default":
                yield file, _refused(application, "there is no such AppProject", "Add it, or name another.")
            continue
        project: Values = dict(by_name[application.project])
        for source in application.sources:
            if not _allows(project.get("sourceRepos"), source.repository):
                yield file, _refused(application, f"it does not allow the source {source.repository}", _FIX)
        if not any(_destination(row, application) for row in _rows(project.get("destinations"))):
            yield (
                file,
                _refused(
                    application, f"it does not allow namespace {application.namespace} on {application.server}", _FIX
                ),
            )
        kinds = sorted({_group_kind(item) for item in objects.get((application.set, application.name), ())})
        for group, kind in kinds:
            if not _allows_kind(project, group, kind):
                yield file, _refused(application, f"it does not allow {kind} of {group or 'the core group'}", _FIX)


_FIX: Final = "Add it to the AppProject, if it belongs there."
_CLUSTER_KINDS: Final = {
    *("Namespace", "ClusterQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass", "Queue", "ClusterRole"),
    *("ClusterRoleBinding", "CustomResourceDefinition", "PriorityClass", "StorageClass"),
}


def _refused(application: Application, reason: str, fix: str) -> Finding:
    return Finding(
        "GIT004",
        "",
        f"{application.name} belongs to the project {application.project}: {reason}",
        fix,
        {"project": application.project},
    )


def _rows(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _allows(patterns: Value, text: str) -> bool:
    """Say whether one of some patterns fits and none with a ``!`` before it does."""
    rows = [str(row) for row in _rows(patterns)]
    denied = any(fnmatch.fnmatchcase(text, row[1:]) for row in rows if row.startswith("!"))
    return not denied and any(fnmatch.fnmatchcase(text, row) for row in rows if not row.startswith("!"))


def _destination(row: Value, application: Application) -> bool:
    if not isinstance(row, dict):
        return False
    server = str(row.get("server") or row.get("name") or "")
    return _allows([server], application.server) and _allows([row.get("namespace")], application.namespace)


def _group_kind(item: Values) -> tuple[str, str]:
    version = str(item.get("apiVersion"))
    return version.rpartition("/")[0], str(item.get("kind"))


def _allows_kind(project: Values, group: str, kind: str) -> bool:
    cluster = kind in _CLUSTER_KINDS
    allowed = project.get("clusterResourceWhitelist" if cluster else "namespaceResourceWhitelist")
    denied = project.get("clusterResourceBlacklist" if cluster else "namespaceResourceBlacklist")
    if any(_is_kind(row, group, kind) for row in _rows(denied)):
        return False
    if allowed is None:
        return not cluster
    return any(_is_kind(row, group, kind) for row in _rows(allowed))


def _is_kind(row: Value, group: str, kind: str) -> bool:
    return isinstance(row, dict) and _allows([row.get("group")], group) and _allows([row.get("kind")], kind)
