"""The chart's own tables: what an engine derives and what belongs to the chart in every pod.

They are data of the chart (``files/engines/`` and ``files/owned.yaml``), read here so that there is one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from lockstep.errors import UsageError
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockstep.yamlfile import Value, Values

_OF_ONE_ENGINE: Final = ("spanningDataSince", "rayUntil", "servedNameSince")


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
class Change:
    """A flag that came or went, or that only other engines have: then neither version is there.

    Parameters
    ----------
    name : str
        The flag without dashes.
    since : str
        First version that has it, or empty.
    gone : str
        First version that was read without it, or empty.
    use : str
        What to use instead.
    """

    name: str
    since: str
    gone: str
    use: str


@dataclass(frozen=True)
class Device:
    """What is different for an engine on some accelerators.

    Parameters
    ----------
    repository : str
        Repository of the engine's own image; empty if there is none.
    pipeline_needs_patch : bool
        Pipeline parallelism has to be added to the engine.
    fabric : str
        The network that tensor parallelism across nodes takes; empty if it is that of any accelerator.
    """

    repository: str = ""
    pipeline_needs_patch: bool = False
    fabric: str = ""


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
        Prefix that turns a boolean flag off; empty where flags have none.
    repository : str
        Repository of the engine's image.
    data_in_tensor : bool
        Data parallel groups are made of the tensor ranks.
    factors, balancing, executors : tuple of str
        Factors of the layout, kinds of load balancing and executors that the engine has.
    ssh : bool
        Several nodes need a key for ssh.
    devices : mapping of str to Device
        By the name of the accelerator's resource.
    own : mapping of str to str
        Versions that only this engine's rules know, by their key.
    changes : tuple of Change
        Flags that came or went, or that only other engines have.
    flags : tuple of Reserved
        Flags that the launch script derives.
    variables : tuple of Reserved
        Variables that the chart or the launch script sets.
    """

    version: str
    multi_node_since: str
    negation: str
    repository: str
    data_in_tensor: bool
    factors: tuple[str, ...]
    balancing: tuple[str, ...]
    executors: tuple[str, ...]
    ssh: bool
    devices: Mapping[str, Device]
    own: Mapping[str, str]
    changes: tuple[Change, ...]
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
def engine(chart: Path, name: str) -> EngineFacts:
    """Read what is special of an engine.

    Parameters
    ----------
    chart : Path
        The chart's folder.
    name : str
        The engine's name.

    Returns
    -------
    EngineFacts
        Its table.

    Raises
    ------
    UsageError
        If the chart has none.
    """
    file = chart / "files" / "engines" / f"{name}.yaml"
    if not file.is_file():
        raise UsageError(f"{file}: no such file; use a lockstep as old as the chart, or a chart as new as it")
    return _engine(read(file))


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


def _engine(row: Values) -> EngineFacts:
    return EngineFacts(
        version=str(row["version"]),
        multi_node_since=str(row["multiNodeSince"]),
        negation=str(row["negation"]),
        repository=_texts(row["image"])["repository"],
        data_in_tensor=bool(row["dataInTensor"]),
        factors=_words(row["factors"]),
        balancing=_words(row["balancing"]),
        executors=_words(row["executors"]),
        ssh=bool(row["ssh"]),
        devices={name: _device(device) for name, device in _tables(row["devices"]).items()},
        own={name: str(value) for name, value in row.items() if name in _OF_ONE_ENGINE},
        changes=tuple(
            Change(change["name"], change.get("since", ""), change.get("gone", ""), change.get("use", ""))
            for change in map(_texts, _list(row["changes"]))
        ),
        flags=_reserved(row["flags"], "name"),
        variables=_reserved(row["env"], "name"),
    )


def _device(row: Values) -> Device:
    return Device(str(row.get("repository") or ""), bool(row.get("pipelineNeedsPatch")), str(row.get("fabric") or ""))


def _tables(value: Value) -> dict[str, Values]:
    return {name: item for name, item in value.items() if isinstance(item, dict)} if isinstance(value, dict) else {}


def _words(value: Value) -> tuple[str, ...]:
    return tuple(str(word) for word in _list(value))


def _texts(value: Value) -> dict[str, str]:
    return {name: str(item) for name, item in value.items()} if isinstance(value, dict) else {}


def _reserved(value: Value, key: str) -> tuple[Reserved, ...]:
    rows = value if isinstance(value, list) else []
    return tuple(
        Reserved(str(row[key]), str(row["use"]), _words(row.get("short"))) for row in rows if isinstance(row, dict)
    )


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
