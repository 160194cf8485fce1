"""Paths into values, as findings write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def dotted(parts: Iterable[str | int]) -> str:
    """Write a path of keys and indices with dots.

    Parameters
    ----------
    parts : iterable of str or int
        Keys and indices from the root.

    Returns
    -------
    str
        For instance ``hooks.preLaunch[0].name``.
    """
    path = ""
    for part in parts:
        path = f"{path}[{part}]" if isinstance(part, int) else join(path, part)
    return path


def join(path: str, key: str) -> str:
    """Put a key behind a path.

    Parameters
    ----------
    path, key : str
        The path, perhaps empty, and the key.

    Returns
    -------
    str
        The longer path.
    """
    return f"{path}.{key}" if path else key
