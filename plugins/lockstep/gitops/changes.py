"""Say what a commit does to a fleet: Applications that come and go, and groups that restart."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from lockstep.diff.change import describe, rest
from lockstep.errors import UsageError
from lockstep.gitops import deployed, fleet, tree
from lockstep.gitops.deployed import Deployed, chart_of, values_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lockstep.gitops.applications import Application, Source
    from lockstep.gitops.fleet import Fleet


def since(folder: Path, base: str, clusters: Sequence[Path] = ()) -> list[str]:
    """Compare the files as they are with those of a commit.

    Parameters
    ----------
    folder : Path
        The folder of Argo CD objects.
    base : str
        A commit, tag or branch.
    clusters : sequence of Path
        Files with Secrets of clusters that do not lie in Git; taken for both sides.

    Returns
    -------
    list of str
        A sentence or two for each thing that happens.

    Raises
    ------
    UsageError
        If the folder lies in no repository, Git does not know the commit, or the commit had no such folder.
    """
    root = tree.top(folder)
    if root is None:
        raise UsageError(f"{folder}: lies in no Git repository, so there is nothing to compare it with")
    after = fleet.load(folder.resolve(), root, clusters)
    path = folder.resolve().relative_to(root)
    with tree.at(root, base) as old:
        if not fleet.is_fleet(old.root / path):
            raise UsageError(f"{base} has no {path} with appsets/*.yaml")
        before = fleet.load(old.root / path, old.root, clusters)
        return list(_changes(before, after))


def _changes(before: Fleet, after: Fleet) -> Iterator[str]:
    for written, reason in after.broken:
        yield f"ApplicationSet {written.name} cannot be rendered, so none of its Applications changes: {reason}"
    stuck = {written.name for written, _ in after.broken}
    old = {each.name: each for each in before.applications if each.set not in stuck}
    new = {each.name: each for each in after.applications}
    came, went = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    changed = [name for name in new if name in old and _print(before, old[name]) != _print(after, new[name])]
    removed = deployed.all_of(before, (old[name] for name in went))
    added = deployed.all_of(after, (new[name] for name in came))
    yield _count(came, changed, went)
    for name in came:
        yield _added(name, next((each for each in added if each.application.name == name), None))
    for name in went:
        yield _removed(old[name], next((each for each in removed if each.application.name == name), None))
    was = {each.application.name: each for each in deployed.all_of(before, (old[name] for name in changed))}
    now = {each.application.name: each for each in deployed.all_of(after, (new[name] for name in changed))}
    for name in changed:
        for sentence in _changed(old[name], new[name], was.get(name), now.get(name)):
            yield f"{name}: {sentence}"


def _count(came: list[str], changed: list[str], went: list[str]) -> str:
    if not (came or changed or went):
        return "No Application changes."
    return f"Applications: {len(came)} added, {len(changed)} changed, {len(went)} removed."


def _added(name: str, each: Deployed | None) -> str:
    if each is None or each.release is None:
        return f"{name}: added."
    group, groups = each.release.group, each.release.rollout.replicas
    gpus = groups * group.gpus
    return (
        f"{name}: added; {groups} group{'s' * (groups != 1)} of {group.nodes} node{'s' * (group.nodes > 1)} "
        f"take{'s' * (groups == 1)} {gpus} GPU{'s' * (gpus != 1)}."
    )


def _removed(application: Application, each: Deployed | None) -> str:
    if application.deletes:
        return f"{application.name}: removed, and everything that it made is deleted."
    gpus = ""
    if each is not None and each.release is not None:
        gpus = f", with {each.release.rollout.replicas * each.release.group.gpus} GPUs,"
    return (
        f"{application.name}: removed; what it made{gpus} stays and is nobody's. "
        "Delete it by hand, or bring the folder back."
    )


def _changed(old: Application, new: Application, was: Deployed | None, now: Deployed | None) -> Iterator[str]:
    if old.server != new.server or old.namespace != new.namespace:
        yield (
            f"goes from {old.namespace} on {old.server} to {new.namespace} on {new.server}; what runs there stays, "
            "and another model starts."
        )
        return
    for before, after in zip(old.sources, new.sources, strict=False):
        if before.revision != after.revision or before.chart != after.chart:
            yield f"{_version(before)} becomes {_version(after)}."
    if was is None or now is None:
        yield "its values or settings change."
    elif not now.objects:
        yield "cannot be rendered any more, so nothing happens to what runs; `lockstep check` says why."
    elif not was.objects:
        yield "could not be rendered before, and can now."
    elif was.objects == now.objects:
        yield "renders to the same objects as before."
    elif now.release is not None:
        yield from describe(was.objects, now.objects, now.release)
    else:
        yield from rest(was.objects, now.objects)


def _version(source: Source) -> str:
    return f"{source.chart or source.path} {source.revision}"


def _print(of: Fleet, application: Application) -> tuple[object, ...]:
    """Take a fingerprint of all that an Application is made from, so that only what differs is rendered."""
    root = of.around.tree.root
    source = chart_of(application)
    chart = _digest_of_folder(root / str(source.path)) if source is not None else ""
    files = [_digest(root / path) for _, path in values_files(application)]
    return (application.spec, application.labels, application.deletes, chart, files)


@lru_cache
def _digest_of_folder(folder: Path) -> str:
    return "".join(f"{file.relative_to(folder)}{_digest(file)}" for file in sorted(folder.rglob("*")) if _counts(file))


def _counts(file: Path) -> bool:
    """Leave out what a commit never holds."""
    return file.is_file() and "__pycache__" not in file.parts


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
