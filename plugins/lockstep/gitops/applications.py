"""The Applications that an ApplicationSet yields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import yaml

from lockstep.errors import ValuesError
from lockstep.gitops import evaluate, expression, selectors
from lockstep.gitops.generators import parameters
from lockstep.release import table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lockstep.gitops.generators import Surroundings
    from lockstep.yamlfile import Value, Values

FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"


@dataclass(frozen=True)
class Source:
    """Where an Application's objects come from; ``chart`` is a name in a registry, ``path`` a folder in Git."""

    repository: str
    revision: str
    path: str | None
    chart: str | None
    release: str | None
    value_files: tuple[str, ...]
    ref: str | None


@dataclass(frozen=True)
class Application:
    """One Application.

    Parameters
    ----------
    file : Path
        Where it is written, or the ApplicationSet it comes from.
    set : str
        Name of the ApplicationSet, empty if none.
    config : str
        File of the repository that a Git files generator made it from, empty if none.
    labels : mapping of str to str
        Its labels.
    namespace : str
        Where its objects go.
    deletes : bool
        Whether its objects go with it.
    spec : mapping
        Its spec as a whole.
    """

    file: Path
    set: str
    config: str
    name: str
    labels: Mapping[str, str]
    project: str
    server: str
    namespace: str
    sources: tuple[Source, ...]
    deletes: bool
    spec: Mapping[str, Value]


def of_set(file: Path, item: Values, around: Surroundings) -> list[Application]:
    """Render an ApplicationSet.

    Parameters
    ----------
    file : Path
        Where it is written.
    item : Values
        The ApplicationSet.
    around : Surroundings
        What its generators look at.

    Returns
    -------
    list of Application
        In the order of the parameters.

    Raises
    ------
    ValuesError
        If it cannot be rendered as Argo CD would.
    """
    spec = table(item, "spec")
    if spec.get("goTemplate") is not True:
        raise ValuesError("spec.goTemplate is not true: the older templates put nothing in place of a missing key")
    found = parameters(spec.get("generators"), around)
    template = _template(spec)
    patch = str(spec.get("templatePatch") or "")
    rendered = evaluate.structures([([template, patch], params) for params in found])
    keeps = bool(table(spec, "syncPolicy").get("preserveResourcesOnDeletion"))
    name = str(table(item, "metadata").get("name"))
    applications = []
    for params, result in zip(found, rendered, strict=True):
        assert isinstance(result, list)  # noqa: S101 - as it was given
        filled, patched = result
        application = _patched(filled if isinstance(filled, dict) else {}, str(patched))
        metadata = table(application, "metadata")
        if not keeps and not metadata.get("finalizers"):
            application["metadata"] = {**metadata, "finalizers": [FINALIZER]}
        applications.append(read(file, application, name, _config(params)))
    return applications


def _template(spec: Mapping[str, Value]) -> Values:
    template = table(spec, "template")
    if "metadata" not in template or "spec" not in template:
        raise ValuesError("spec.template has no metadata or no spec")
    return {"metadata": template["metadata"], "spec": template["spec"]}


def _patched(application: Values, patch: str) -> Values:
    if not patch.strip():
        return application
    try:
        change = yaml.safe_load(patch)
    except yaml.YAMLError as error:
        raise ValuesError(f"templatePatch is no YAML once it is filled in: {error}") from None
    if not isinstance(change, dict):
        raise ValuesError("templatePatch is not a mapping once it is filled in")
    patched = merge(application, change)
    # Argo CD puts the template's own project back.
    return {**patched, "spec": {**table(patched, "spec"), "project": table(application, "spec").get("project")}}


def merge(below: Mapping[str, Value], above: Mapping[str, Value]) -> Values:
    """Lay a patch on a mapping: mappings merge, null removes, everything else replaces."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(under, value) if isinstance(value, dict) and isinstance(under, dict) else value
    return merged


def read(file: Path, item: Mapping[str, Value], of: str = "", config: str = "") -> Application:
    """Read an Application.

    Parameters
    ----------
    file : Path
        Where it is written.
    item : mapping
        The object.
    of : str, optional
        Name of its ApplicationSet.
    config : str, optional
        The file that its parameters came from.

    Returns
    -------
    Application
        What the checks need of it.
    """
    metadata, spec = table(item, "metadata"), table(item, "spec")
    destination = table(spec, "destination")
    rows = spec.get("sources") or [spec.get("source")]
    finalizers = metadata.get("finalizers")
    return Application(
        file,
        of,
        config,
        str(metadata.get("name") or ""),
        {key: str(value) for key, value in table(metadata, "labels").items()},
        str(spec.get("project") or ""),
        str(destination.get("server") or destination.get("name") or ""),
        str(destination.get("namespace") or ""),
        tuple(_source(row) for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict)),
        isinstance(finalizers, list) and any(str(each).startswith(FINALIZER) for each in finalizers),
        spec,
    )


def _source(row: Values) -> Source:
    helm = table(row, "helm")
    files = helm.get("valueFiles")
    return Source(
        str(row.get("repoURL") or ""),
        str(row.get("targetRevision") or "HEAD"),
        text(row, "path"),
        text(row, "chart"),
        text(helm, "releaseName"),
        tuple(str(file) for file in files) if isinstance(files, list) else (),
        text(row, "ref"),
    )


def _config(params: Values) -> str:
    path = table(params, "path")
    return str(PurePosixPath(str(path["path"])) / str(path["filename"])) if "filename" in path else ""


def unread(item: Values, keys: set[str]) -> Iterator[str]:
    """Give the keys of parameters that an ApplicationSet does not use, as far as that can be told.

    Parameters
    ----------
    item : Values
        The ApplicationSet.
    keys : set of str
        Keys of a file that a Git files generator read.

    Yields
    ------
    str
        Each key that nothing reads.
    """
    spec = item.get("spec")
    used = expression.uses(iter(evaluate.strings(spec)))
    if not used.everything:
        yield from sorted(keys - used.keys - {key.partition(".")[0] for key in _selected(spec)})


def _selected(value: Value) -> Iterator[str]:
    """Give the keys that selectors ask for, wherever they stand."""
    if isinstance(value, list):
        for item in value:
            yield from _selected(item)
    elif isinstance(value, dict):
        yield from selectors.keys(table(value, "selector"))
        for item in value.values():
            yield from _selected(item)
