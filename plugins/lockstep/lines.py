"""On which line of a values file a key stands, for the outputs that point at it."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import yaml

from lockstep.errors import LockstepError
from lockstep.paths import join
from lockstep.yamlfile import MAX_DEPTH, MAX_NODES, compose, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def lines(file: Path) -> dict[str, int]:
    """Find the line of every key of a values file.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    dict of str to int
        Lines, counted from 1, by path as findings write it (``hooks.preLaunch[0].name``; ``Deployment/mistral`` for a
        Kubernetes object). Empty when the file cannot be read as YAML: that is a finding of its own. Of several
        documents each path has its first line.
    """
    found: dict[str, int] = {}
    try:
        documents = compose(file.read_text(encoding="utf-8-sig"))
        for path, line in islice(chain.from_iterable(_below(node, "", 0) for node in documents), MAX_NODES):
            found.setdefault(path, line)
    except (OSError, UnicodeDecodeError, LockstepError):
        return {}
    return found


def line_of(path: str, known: Mapping[str, int]) -> int:
    """Find the line that a finding points at.

    Parameters
    ----------
    path : str
        The finding's path.
    known : mapping of str to int
        What :func:`lines` returned.

    Returns
    -------
    int
        The line of the key, else of the nearest key above it, else 1: a key can be missing, or come from a file
        beneath this one or from the chart's defaults.
    """
    above = [key for key in known if path == key or path.startswith((f"{key}.", f"{key}[", f"{key}/"))]
    return known[max(above, key=len)] if above else 1


def _below(node: yaml.Node, path: str, depth: int) -> Iterator[tuple[str, int]]:
    """Yield the keys and items below a node; what a merge key brings comes after the keys that win over it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield f"{path}[{index}]", item.start_mark.line + 1
            yield from _below(item, f"{path}[{index}]", depth + 1)
    elif isinstance(node, yaml.MappingNode):
        yield from _object(node)
        merged: list[yaml.Node] = []
        for key_node, value in node.value:
            key = key_of(key_node)
            yield join(path, key), key_node.start_mark.line + 1
            if key == "<<":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
            else:
                yield from _below(value, join(path, key), depth + 1)
        for part in merged:
            yield from _below(part, path, depth + 1)


def _object(node: yaml.MappingNode) -> Iterator[tuple[str, int]]:
    """Yield a Kubernetes object by kind and name."""
    kind, name = _child(node, "kind"), _child(_child(node, "metadata"), "name")
    if isinstance(kind, yaml.ScalarNode) and isinstance(name, yaml.ScalarNode):
        yield f"{kind.value}/{name.value}", node.start_mark.line + 1


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for known, value in pairs if known.value == key), None)
