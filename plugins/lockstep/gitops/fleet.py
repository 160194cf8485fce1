"""What a tree of Argo CD objects says: projects, ApplicationSets, clusters, and the Applications they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from lockstep import helm
from lockstep.errors import ValuesError
from lockstep.gitops import applications
from lockstep.gitops.clusters import find as find_clusters
from lockstep.gitops.generators import Surroundings
from lockstep.gitops.tree import Tree
from lockstep.release import table, text
from lockstep.yamlfile import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lockstep.gitops.applications import Application
    from lockstep.gitops.clusters import Cluster
    from lockstep.yamlfile import Value, Values

_KINDS: Final = ("Application", "ApplicationSet", "AppProject", "Secret", "ExternalSecret", "SealedSecret")


@dataclass(frozen=True)
class Written:
    """An object and the file it stands in."""

    file: Path
    item: Values

    @property
    def name(self) -> str:
        """Its name."""
        return str(table(self.item, "metadata").get("name") or "")


@dataclass(frozen=True)
class Fleet:
    """A tree of Argo CD objects.

    Parameters
    ----------
    folder : Path
        The folder of the objects.
    around : Surroundings
        The repository it lies in, and the clusters.
    projects, sets, roots : tuple of Written
        AppProjects, ApplicationSets, and Applications that are written as such.
    applications : tuple of Application
        What the ApplicationSets yield.
    broken : tuple of (Written, str)
        ApplicationSets that yield nothing, with the reason.
    """

    folder: Path
    around: Surroundings
    projects: tuple[Written, ...]
    sets: tuple[Written, ...]
    roots: tuple[Written, ...]
    applications: tuple[Application, ...] = field(default=())
    broken: tuple[tuple[Written, str], ...] = field(default=())

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters."""
        return self.around.clusters


def is_fleet(folder: Path) -> bool:
    """Say whether a folder holds Argo CD objects."""
    return folder.is_dir() and any(folder.glob("appsets/*.yaml"))


def load(folder: Path, root: Path, clusters: Sequence[Path] = ()) -> Fleet:
    """Read a tree and render its ApplicationSets.

    Parameters
    ----------
    folder : Path
        The folder of the objects.
    root : Path
        Top folder of the repository.
    clusters : sequence of Path
        Files with Secrets of clusters that do not lie in Git.

    Returns
    -------
    Fleet
        What it says.

    Raises
    ------
    UsageError
        If a file is missing.
    ValuesError
        If a file is not YAML.
    RenderError
        If the folder is a chart that does not render.
    """
    roots = tuple(each for each in _read(folder.glob("bootstrap/*.yaml")) if each.item.get("kind") == "Application")
    here = folder.resolve().relative_to(root.resolve()).as_posix()
    source = next((source for source in map(_source, roots) if str(source.get("path") or "").strip("/") == here), {})
    repository, revision = text(source, "repoURL"), text(source, "targetRevision") or "HEAD"
    found = list(_objects(folder, table(source, "helm").get("parameters")))
    secrets = [each.item for each in (*found, *_read(clusters))]
    around = Surroundings(Tree(root), repository, frozenset({"HEAD", revision}), tuple(find_clusters(secrets)))
    made: list[Application] = []
    broken: list[tuple[Written, str]] = []
    sets = tuple(each for each in found if each.item["kind"] == "ApplicationSet")
    for each in sets:
        applications_or_reason = _rendered(each, around)
        if isinstance(applications_or_reason, str):
            broken.append((each, applications_or_reason))
        else:
            made += applications_or_reason
    projects = tuple(each for each in found if each.item["kind"] == "AppProject")
    written = (*roots, *(each for each in found if each.item["kind"] == "Application"))
    return Fleet(folder, around, projects, sets, written, tuple(made), tuple(broken))


def _rendered(written: Written, around: Surroundings) -> list[Application] | str:
    try:
        return applications.of_set(written.file, written.item, around)
    except ValuesError as error:
        return str(error)


def _source(root: Written) -> Mapping[str, Value]:
    """Give where a root Application points: so Argo CD knows the repository, and with these parameters."""
    return table(table(root.item, "spec"), "source")


def _objects(folder: Path, parameters: Value) -> Iterator[Written]:
    """Read the objects: where the folder is a chart, as it renders, each with the file that it is written in."""
    plain = [each for each in _read(sorted(folder.rglob("*.yaml"))) if each.item.get("kind") in _KINDS]
    if not (folder / "Chart.yaml").is_file():
        yield from (each for each in plain if each.file.parent.name != "bootstrap")
        return
    files = {(str(each.item["kind"]), each.name): each.file for each in plain}
    rows = parameters if isinstance(parameters, list) else []
    settings = [f"--set-string={row['name']}={row['value']}" for row in rows if isinstance(row, dict)]
    printed = helm.run(["template", folder.name, folder, "--namespace=argocd", *settings])
    for item in yaml.load_all(printed, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(item, dict) and item.get("kind") in _KINDS:
            named = Written(folder / "templates", item)
            yield Written(files.get((str(item["kind"]), named.name), named.file), item)


def _read(files: Iterable[Path]) -> Iterator[Written]:
    for file in files:
        try:
            content = text_of(file)
        except ValuesError as error:
            raise ValuesError(f"{file}: {error}") from None
        try:
            documents = list(yaml.load_all(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        except yaml.YAMLError as error:
            if "{{" in content:  # a template of a chart, not an object
                continue
            mark = getattr(error, "problem_mark", None)
            line = f"line {mark.line + 1}: " if mark else ""
            raise ValuesError(f"{file}: {line}not valid YAML: {getattr(error, 'problem', error)}") from None
        yield from (Written(file, item) for item in documents if isinstance(item, dict))
