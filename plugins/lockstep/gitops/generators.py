"""What the generators of an ApplicationSet yield, as Argo CD 3.2 works it out.

Source: argoproj/argo-cd, ``applicationset/generators``. What hangs on a server (pull requests, SCM providers, plug-ins,
other repositories) is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.gitops import evaluate, selectors
from lockstep.gitops.clusters import LOCAL, Cluster, normalized
from lockstep.gitops.selectors import Texts
from lockstep.release import table
from lockstep.yamlfile import parse_rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockstep.gitops.tree import Tree
    from lockstep.yamlfile import Value, Values

KEYS: Final = {
    "list": {"elements", "elementsYaml"},
    "clusters": {"selector", "values", "flatList"},
    "git": {"repoURL", "revision", "files", "directories", "values", "pathParamPrefix", "requeueAfterSeconds"},
    "matrix": {"generators"},
    "merge": {"generators", "mergeKeys"},
}


@dataclass(frozen=True)
class Surroundings:
    """What generators look at.

    Parameters
    ----------
    tree : Tree
        The repository.
    repository : str or None
        Its address; None takes any for it.
    revisions : frozenset of str
        Names under which ApplicationSets may mean this state of it.
    clusters : tuple of Cluster
        The clusters.
    """

    tree: Tree
    repository: str | None
    revisions: frozenset[str]
    clusters: tuple[Cluster, ...]


def parameters(generators: Value, around: Surroundings) -> list[Values]:
    """Give the parameter sets of an ApplicationSet, in order.

    Parameters
    ----------
    generators : Value
        ``spec.generators``.
    around : Surroundings
        What they look at.

    Returns
    -------
    list of Values
        One for each Application.

    Raises
    ------
    ValuesError
        If a generator is unknown, hangs on a server, or is written wrongly.
    """
    rows = generators if isinstance(generators, list) else []
    return [params for row in rows for params in _one(_mapping(row), around)]


def _one(row: Values, around: Surroundings) -> list[Values]:
    kinds = [kind for kind in row if kind != "selector"]
    if len(kinds) != 1:
        raise ValuesError(f"a generator has exactly one kind here; this one has {', '.join(kinds) or 'none'}")
    kind = kinds[0]
    if kind not in _KINDS:
        raise ValuesError(f"the generator {kind} hangs on a server; {', '.join(_KINDS)} can be evaluated here")
    body = _mapping(row[kind])
    if "template" in body:
        raise ValuesError(
            f"the generator {kind} has a template of its own, which is not evaluated here; say what differs in "
            "templatePatch, or write a second ApplicationSet"
        )
    if unknown := sorted(set(body) - KEYS[kind]):
        raise ValuesError(f"the generator {kind} has the key {unknown[0]}; {', '.join(sorted(KEYS[kind]))} are read")
    found = _KINDS[kind](body, around)
    return [params for params in found if selectors.picks(params, table(row, "selector"))]


def _list(body: Values, _around: Surroundings) -> list[Values]:
    elements = body.get("elements") or []
    if "elementsYaml" in body:
        elements = [*_rows(elements), *parse_rows(str(body["elementsYaml"]))]
    return [_mapping(element) for element in _rows(elements)]


def _clusters(body: Values, around: Surroundings) -> list[Values]:
    selector = table(body, "selector")
    found = [cluster.parameters() for cluster in around.clusters if selectors.matches(cluster.labels, selector)]
    if not selector and all(cluster.server != LOCAL for cluster in around.clusters):
        found.append({"name": "in-cluster", "nameNormalized": "in-cluster", "server": LOCAL, "project": ""})
    found = _with_values(found, body)
    return [{"clusters": [*found]}] if body.get("flatList") else found


def _git(body: Values, around: Surroundings) -> list[Values]:
    revision = str(body.get("revision") or "HEAD")
    if around.repository is not None and body.get("repoURL") != around.repository:
        raise ValuesError(f"the Git generator reads {body.get('repoURL')}; only {around.repository} is at hand")
    if revision not in around.revisions:
        raise ValuesError(
            f"the Git generator reads revision {revision}; {', '.join(sorted(around.revisions))} is at hand"
        )
    prefix = str(body.get("pathParamPrefix") or "")
    found: list[Values] = []
    if "directories" in body:
        found += [_path(folder, prefix, {}) for folder in _picked(body["directories"], around.tree.folders)]
    elif "files" in body:
        for file in _picked(body["files"], around.tree.files):
            path = _path(str(PurePosixPath(file).parent), prefix, {"filename": _name(file)})
            found += [{**content, **path} for content in _content(around.tree, file)]
    else:
        raise ValuesError("the Git generator names neither files nor directories")
    return _with_values(found, body)


def _content(tree: Tree, file: str) -> list[Values]:
    try:
        return read_rows(tree.root / file)
    except ValuesError as error:
        raise ValuesError(f"{file}: {error}") from None


def _matrix(body: Values, around: Surroundings) -> list[Values]:
    first, second = _two(body, "matrix")
    outer = _one(first, around)
    inner = evaluate.structures([(second, params) for params in outer])
    as_written = {key: value for key, value in second.items() if key == "selector"}
    return [  # the first generator's parameters win
        _over(b, a) for a, row in zip(outer, inner, strict=True) for b in _one({**_mapping(row), **as_written}, around)
    ]


def _merge(body: Values, around: Surroundings) -> list[Values]:
    keys = [str(key) for key in _rows(body.get("mergeKeys"))]
    if not keys:
        raise ValuesError("the generator merge has no mergeKeys")
    base, *others = (_keyed(_one(_mapping(row), around), keys) for row in _rows(body.get("generators")))
    for other in others:
        for key in base.keys() & other.keys():
            base[key] = _over(base[key], other[key])
    return list(base.values())


_KINDS: Final[dict[str, Callable[[Values, Surroundings], list[Values]]]] = {
    "list": _list,
    "clusters": _clusters,
    "git": _git,
    "matrix": _matrix,
    "merge": _merge,
}


def _keyed(rows: list[Values], keys: list[str]) -> dict[str, Values]:
    keyed: dict[str, Values] = {}
    for row in rows:
        key = repr([row.get(key) for key in keys])
        if key in keyed:
            raise ValuesError(f"the generator merge finds two parameter sets with {', '.join(keys)} {key[1:-1]}")
        keyed[key] = row
    return keyed


def _over(below: Values, above: Values) -> Values:
    """Merge as Argo CD's library does: an empty value never replaces one that is there."""
    merged = type(below)(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, dict) and isinstance(under, dict):
            merged[key] = _over(under, value)
        elif value or key not in merged:
            merged[key] = value
    return merged


def _two(body: Values, kind: str) -> tuple[Values, Values]:
    rows = _rows(body.get("generators"))
    if len(rows) != 2:
        raise ValuesError(f"the generator {kind} takes two generators; {len(rows)} are given")
    return _mapping(rows[0]), _mapping(rows[1])


def _picked(items: Value, find: Callable[[str], Sequence[str]]) -> list[str]:
    rows = [_mapping(item) for item in _rows(items)]
    without = {path for row in rows if row.get("exclude") for path in find(str(row["path"]))}
    return sorted({path for row in rows if not row.get("exclude") for path in find(str(row["path"]))} - without)


def _path(folder: str, prefix: str, more: Values) -> Values:
    name = _name(folder)
    path: Values = {
        "path": folder,
        "basename": name,
        "basenameNormalized": normalized(name),
        "segments": [*folder.split("/")],
        **more,
    }
    if more:
        path["filenameNormalized"] = normalized(str(more["filename"]))
    return {prefix: {"path": path}} if prefix else {"path": path}


def _with_values(found: list[Values], body: Values) -> list[Values]:
    if not table(body, "values"):
        return found
    filled = evaluate.structures([(body["values"], params) for params in found])
    return [{**params, "values": Texts(_mapping(values))} for params, values in zip(found, filled, strict=True)]


def _name(path: str) -> str:
    return PurePosixPath(path).name


def _rows(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _mapping(value: Value) -> Values:
    if not isinstance(value, dict):
        raise ValuesError(f"a mapping is expected where {value} stands")
    return value
