"""ApplicationSets: whether they can be rendered, are read as they are written, and remove nothing by surprise."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.findings import Finding
from lockstep.gitops.applications import unread
from lockstep.gitops.deployed import file_of
from lockstep.gitops.selectors import matches_expressions
from lockstep.release import table
from lockstep.yamlfile import read, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lockstep.gitops.deployed import Deployed
    from lockstep.gitops.fleet import Fleet, Written
    from lockstep.yamlfile import Value, Values

    Found = Iterator[tuple[Path, Finding]]

_KNOWN: Final = Path(__file__).parents[2] / "facts" / "argocd.yaml"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_ACTION: Final = re.compile(r"\{\{.*?\}\}")


def renders(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse an ApplicationSet that cannot be rendered: Argo CD then changes none of its Applications."""
    for written, reason in fleet.broken:
        yield (
            written.file,
            Finding(
                "GIT001",
                "",
                f"ApplicationSet {written.name} cannot be rendered: {reason}",
                "Mend the template, or the file that its parameters come from.",
                {"ApplicationSet": written.name},
            ),
        )
    for written in fleet.sets:
        options = table(written.item, "spec").get("goTemplateOptions")
        if "missingkey=error" not in (options if isinstance(options, list) else []):
            yield (
                written.file,
                Finding(
                    "GIT001",
                    "spec.goTemplateOptions",
                    f"ApplicationSet {written.name} does not set missingkey=error: a key that is missing becomes "
                    "the text <no value>",
                    "Set goTemplateOptions: [missingkey=error].",
                    {"ApplicationSet": written.name},
                ),
            )


def keys(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse keys that nobody reads, in the objects and in the files that parameters come from."""
    for written in (*fleet.sets, *fleet.projects, *fleet.roots):
        kind = str(written.item["kind"])
        spec = table(written.item, "spec")
        unknown = [f"spec.{path}" for path in _unknown(written.item.get("spec"), _known()[kind])]
        if kind == "ApplicationSet":
            inner = table(table(spec, "template"), "spec")
            unknown += [f"spec.template.spec.{path}" for path in _of_application(inner)]
        if kind == "Application":
            unknown = [f"spec.{path}" for path in _of_application(spec)]
        for path in unknown:
            yield written.file, _unread(path, f"{kind} {written.name}: Argo CD does not know {path}")
    for application in fleet.applications:
        item = next((each for each in fleet.sets if each.name == application.set), None)
        if item is None or not application.config:
            continue
        file = file_of(fleet, application)
        try:
            unused = list(unread(item.item, {key for row in read_rows(file) for key in row}))
        except ValuesError:
            continue
        for key in unused:
            yield file, _unread(key, f"{key} is set, but ApplicationSet {application.set} reads no such key")


def _unread(path: str, message: str) -> Finding:
    return Finding("GIT002", path, message, "Remove it, or write it as it is read.", {"key": path})


@cache
def _known() -> dict[str, Values]:
    known = {kind: value for kind, value in read(_KNOWN).items() if isinstance(value, dict)}
    known["Application"] = {**known["Application"], "source": known["Source"], "sources": known["Source"]}
    return known


def _of_application(spec: Mapping[str, Value]) -> list[str]:
    return list(_unknown(dict(spec), _known()["Application"]))


def _unknown(value: Value, known: Value) -> Iterator[str]:
    """Give the paths of keys that are not known."""
    if isinstance(value, list):
        for item in value:
            yield from _unknown(item, known)
    elif isinstance(value, dict) and known is not None:
        for key, item in value.items():
            names = known if isinstance(known, (dict, list)) else []
            if key not in names:
                yield key
            elif isinstance(known, dict):
                yield from (f"{key}.{path}" for path in _unknown(item, known[key]))


def names(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse names that two Applications share, and names and namespaces that Kubernetes does not take."""
    seen: dict[str, str] = {}
    for application in fleet.applications:
        file = file_of(fleet, application)
        origin = application.config or application.set
        if application.name in seen:
            yield (
                file,
                Finding(
                    "GIT003",
                    "",
                    f"{origin} and {seen[application.name]} both make an Application called {application.name}",
                    "Rename one of the folders or clusters.",
                    {"name": application.name},
                ),
            )
        seen[application.name] = origin
        for what, name, limit in (("Application", application.name, 253), ("namespace", application.namespace, 63)):
            if not _NAME.fullmatch(name) or len(name) > limit:
                yield (
                    file,
                    Finding(
                        "GIT003",
                        "namespace" if what == "namespace" else "",
                        f'{application.name}: "{name}" cannot be the name of a {what}',
                        "Use lower-case letters, digits and -.",
                        {"name": name},
                    ),
                )


def rings(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse an Application that no step of a progressive sync takes: it would never be synced."""
    for application in fleet.applications:
        item = next((each for each in fleet.sets if each.name == application.set), None)
        strategy = table(table(item.item, "spec"), "strategy") if item else {}
        steps = table(strategy, "rollingSync").get("steps")
        if strategy.get("type") != "RollingSync" or not isinstance(steps, list):
            continue
        taken = (
            matches_expressions(application.labels, step.get("matchExpressions"))
            for step in steps
            if isinstance(step, dict)
        )
        if not any(taken):
            yield (
                file_of(fleet, application),
                Finding(
                    "GIT010",
                    "",
                    f"no step of ApplicationSet {application.set} takes {application.name}, whose labels are "
                    f"{', '.join(f'{key}={value}' for key, value in application.labels.items())}: it is never synced",
                    "Give the cluster's Secret a label that a step asks for, or add a step.",
                    {"labels": dict(application.labels)},
                ),
            )


def removal(fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Warn where the removal of a folder deletes a running model at once."""
    for each in deployed:
        application = each.application
        keeps = next((_keeps(item) for item in fleet.sets if item.name == application.set), True)
        if each.release and application.deletes and not keeps:
            yield (
                file_of(fleet, application),
                Finding(
                    "GIT011",
                    "spec.syncPolicy",
                    f"ApplicationSet {application.set} deletes {application.name} and its model when the folder is "
                    "removed or renamed, or no cluster matches any more",
                    "Set syncPolicy.preserveResourcesOnDeletion: true in the ApplicationSet, and delete with a "
                    "finalizer that a folder asks for.",
                    {"ApplicationSet": application.set},
                ),
            )


def _keeps(written: Written) -> bool:
    return bool(table(table(written.item, "spec"), "syncPolicy").get("preserveResourcesOnDeletion"))


def folders(fleet: Fleet, _deployed: list[Deployed]) -> Found:
    """Refuse folders that look like a deployment and are none: no such cluster, or no config in them."""
    used = {application.config for application in fleet.applications}
    broken = {written.name for written, _ in fleet.broken}
    for written in fleet.sets:
        patterns = [] if written.name in broken else _patterns(table(written.item, "spec").get("generators"))
        for pattern in patterns:
            everywhere = _ACTION.sub("*", pattern)
            for path in fleet.around.tree.files(everywhere):
                if path not in used:
                    yield fleet.around.tree.root / path, _unused(path, pattern, fleet)
            folder, _, name = everywhere.rpartition("/")
            for path in fleet.around.tree.folders(folder):
                if not (fleet.around.tree.root / path / name).is_file():
                    yield (
                        fleet.around.tree.root / path,
                        Finding(
                            "GIT012",
                            "",
                            f"{path} has no {name}, so ApplicationSet {written.name} makes nothing of it",
                            f"Add {name}, or remove the folder.",
                            {"folder": path},
                        ),
                    )


def _unused(path: str, pattern: str, fleet: Fleet) -> Finding:
    known = ", ".join(cluster.name for cluster in fleet.clusters) or "none"
    return Finding(
        "GIT012",
        "",
        f"{path} is deployed nowhere: {pattern} fits no cluster that has the labels the ApplicationSet asks for "
        f"(clusters: {known})",
        "Name the folder like its cluster; give the cluster's Secret the labels, or name the Secret's file with "
        "--clusters if it does not lie in Git.",
        {"file": path, "clusters": [cluster.name for cluster in fleet.clusters]},
    )


def _patterns(value: Value) -> Iterator[str]:
    """Give the paths of Git files generators that hang on another generator, wherever they are nested."""
    if isinstance(value, list):
        for item in value:
            yield from _patterns(item)
    elif isinstance(value, dict):
        git = table(value, "git").get("files")
        for row in git if isinstance(git, list) else []:
            if isinstance(row, dict) and "{{" in str(row.get("path")) and not row.get("exclude"):
                yield str(row["path"])
        for nested in ("matrix", "merge"):
            yield from _patterns(table(value, nested).get("generators"))
