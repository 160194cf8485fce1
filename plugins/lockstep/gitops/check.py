"""The findings of a tree of Argo CD objects, and of every release that it deploys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.errors import UsageError
from lockstep.gitops import deployed, fleet, tree
from lockstep.gitops.rules import controllers, queues, sets, sources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockstep.findings import Finding

RULES: Final = (
    sets.renders,
    sets.keys,
    sets.names,
    sets.rings,
    sets.removal,
    sets.folders,
    sources.pinned,
    sources.files,
    sources.projects,
    controllers.installed,
    controllers.patience,
    queues.admitted,
)


def run(folder: Path, clusters: Sequence[Path] = ()) -> list[tuple[Path, list[Finding]]]:
    """Check a tree.

    Parameters
    ----------
    folder : Path
        The folder of the objects, with ``appsets/`` in it.
    clusters : sequence of Path
        Files with Secrets of clusters that do not lie in Git.

    Returns
    -------
    list of (Path, list of Finding)
        Files with their findings: every values file that is deployed, and others only if there is something to say.

    Raises
    ------
    UsageError
        If the folder is none of Argo CD objects, or lies in no repository.
    """
    if not fleet.is_fleet(folder):
        raise UsageError(
            f"{folder}: a folder without appsets/*.yaml; name a values file, or the folder of Argo CD objects"
        )
    root = tree.top(folder)
    if root is None:
        raise UsageError(f"{folder}: lies in no Git repository, so it cannot be said which files Argo CD would find")
    found = fleet.load(folder.resolve(), root, clusters)
    every = deployed.all_of(found)
    reports: dict[Path, list[Finding]] = {}
    for each in every:
        if each.given is not None:
            reports.setdefault(each.given.file, []).extend(each.findings)
    for rule in RULES:
        for file, finding in rule(found, every):
            rows = reports.setdefault(file, [])
            if finding not in rows:
                rows.append(finding)
    return [(_near(file, folder), findings) for file, findings in reports.items()]


def _near(file: Path, folder: Path) -> Path:
    """Write a path as the caller wrote the folder."""
    top = folder.resolve()
    return folder / file.relative_to(top) if file.is_relative_to(top) else file
