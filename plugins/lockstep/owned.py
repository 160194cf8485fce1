"""The chart's own tables: what an engine derives and what belongs to the chart in every pod.

They are data of the chart (``files/engines.yaml`` and ``files/owned.yaml``), read here so that there is one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lockstep.yamlfile import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockstep.yamlfile import Value


@dataclass(frozen=True)
class Reserved:
    """A flag, variable or metadata key that is not the user's to set.

    Parameters
    ----------
    name : str
        Its name; a variable that ends in ``_`` or a metadata key that ends in ``/`` stands for all that begin so.
    use : str
        What to set instead.
    short : tuple of str
        Short spellings of a flag.
    """

    name: str
    use: str
    short: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        """Say whether a variable or metadata key is this one or begins with it.

        Parameters
        ----------
        name : str
            The key the user gave.

        Returns
        -------
        bool
            True if so.
        """
        return name == self.name or (self.name[-1] in "_/" and name.startswith(self.name))


@dataclass(frozen=True)
class EngineFacts:
    """What differs between engines.

    Parameters
    ----------
    version : str
        Version used when the values name none.
    multi_node_since : str
        First version that spans nodes.
    negation : str
        Prefix that turns a boolean flag off.
    flags : tuple of Reserved
        Flags that the launch script derives.
    variables : tuple of Reserved
        Variables that the chart or the launch script sets.
    """

    version: str
    multi_node_since: str
    negation: str
    flags: tuple[Reserved, ...]
    variables: tuple[Reserved, ...]


@dataclass(frozen=True)
class Owned:
    """What belongs to the chart in every pod, whatever the engine.

    Parameters
    ----------
    ports : mapping of str to int
        Ports of the engine container by name.
    mounts : mapping of str to str
        The chart's volume at each of its mount paths.
    volumes : mapping of str to str
        Volume names a user may not take, with what to set instead.
    variables : tuple of Reserved
        Variables a user may not set.
    metadata : tuple of Reserved
        Labels and annotations a user may not set.
    """

    ports: Mapping[str, int]
    mounts: Mapping[str, str]
    volumes: Mapping[str, str]
    variables: tuple[Reserved, ...]
    metadata: tuple[Reserved, ...]


@cache
def engines(chart: Path) -> Mapping[str, EngineFacts]:
    """Read the table of engines.

    Parameters
    ----------
    chart : Path
        The chart's folder.

    Returns
    -------
    mapping of str to EngineFacts
        By the engine's name.
    """
    table = read(chart / "files" / "engines.yaml")
    return {
        name: EngineFacts(
            str(row["version"]),
            str(row["multiNodeSince"]),
            str(row["negation"]),
            _reserved(row["flags"], "name"),
            _reserved(row["env"], "name"),
        )
        for name, row in table.items()
        if isinstance(row, dict)
    }


@cache
def owned(chart: Path) -> Owned:
    """Read the table of what belongs to the chart.

    Parameters
    ----------
    chart : Path
        The chart's folder.

    Returns
    -------
    Owned
        The table.
    """
    table = read(chart / "files" / "owned.yaml")
    return Owned(
        {name: int(port) for name, port in _texts(table["ports"]).items()},
        _texts(table["mounts"]),
        _texts(table["volumes"]),
        _reserved(table["env"], "name"),
        _reserved(table["metadata"], "key"),
    )


def _texts(value: Value) -> dict[str, str]:
    return {name: str(item) for name, item in value.items()} if isinstance(value, dict) else {}


def _reserved(value: Value, key: str) -> tuple[Reserved, ...]:
    rows = value if isinstance(value, list) else []
    return tuple(
        Reserved(str(row[key]), str(row["use"]), tuple(str(word) for word in _list(row.get("short"))))
        for row in rows
        if isinstance(row, dict)
    )


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
