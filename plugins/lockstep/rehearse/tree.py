"""Read values out of parsed YAML with their types checked, so that no ``Any`` goes further."""

from __future__ import annotations

from typing import Any

from lockstep.errors import LockstepError

Node = dict[str, Any]


def mapping(node: Node, *path: str) -> Node:
    """Return the mapping at a path; an empty one where nothing is."""
    found: object = node
    for key in path:
        found = (found if isinstance(found, dict) else {}).get(key)
    return found if isinstance(found, dict) else {}


def items(node: Node, *path: str) -> list[Node]:
    """Return the list of mappings at a path; an empty one where nothing is."""
    found = mapping(node, *path[:-1]).get(path[-1])
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def words(node: Node, *path: str) -> list[str]:
    """Return the list of strings at a path; an empty one where nothing is."""
    found = mapping(node, *path[:-1]).get(path[-1])
    return [str(item) for item in found] if isinstance(found, list) else []


def text(node: Node, *path: str, default: str = "") -> str:
    """Return the string at a path."""
    found = mapping(node, *path[:-1]).get(path[-1])
    return default if found is None else str(found)


def number(node: Node, *path: str, default: float) -> float:
    """Return the number at a path.

    Raises
    ------
    LockstepError
        When something else is there.
    """
    found = mapping(node, *path[:-1]).get(path[-1])
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise LockstepError(f"{'.'.join(path)} is {found!r}: a number is expected")
    return found


def strings(node: Node, *path: str) -> dict[str, str]:
    """Return the mapping of strings at a path (labels, annotations, data)."""
    return {str(key): str(value) for key, value in mapping(node, *path).items()}
