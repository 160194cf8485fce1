"""What other packages add to Lockstep: checks with their codes, accelerators and models, found by entry points.

========================= ==========================================================================
entry point group         what its objects are
========================= ==========================================================================
``lockstep.checks``       a function that takes a :class:`lockstep.release.Release`, yields findings
``lockstep.codes``        the path of a file like ``codes.yaml``: the codes of those findings
``lockstep.accelerators`` the path of a file like ``facts/accelerators.yaml``
``lockstep.models``       the path of a file like ``facts/models.yaml``
========================= ==========================================================================

A plug-in that cannot be used stops nothing: ``lockstep check`` reports it as PLG001 and goes on with the rest.
"""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from lockstep.errors import LockstepError
from lockstep.paths import dotted
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from lockstep.yamlfile import Values

CHECKS: Final = "lockstep.checks"
CODES: Final = "lockstep.codes"
ACCELERATORS: Final = "lockstep.accelerators"
MODELS: Final = "lockstep.models"
GROUPS: Final = (CHECKS, CODES, ACCELERATORS, MODELS)

_SCHEMAS: Final = Path(__file__).with_name("plugins.schema.yaml")


@dataclass(frozen=True)
class Plugin:
    """One entry point.

    Parameters
    ----------
    name : str
        How messages name it: entry point, group and package.
    group : str
        Its group.
    value : object
        The function, or the content of the data file; None if it cannot be used.
    fault : str or None
        Why it cannot be used.
    seconds : float
        How long its import took.
    """

    name: str
    group: str
    value: object
    fault: str | None
    seconds: float


@cache
def plugins(group: str) -> tuple[Plugin, ...]:
    """Load the entry points of a group.

    Parameters
    ----------
    group : str
        One of ``GROUPS``.

    Returns
    -------
    tuple of Plugin
        By name; those that cannot be used, too.
    """
    return tuple(_load(entry) for entry in sorted(_entries().select(group=group), key=lambda entry: entry.name))


def tables(group: str) -> tuple[Values, ...]:
    """Give the content of the data files of a group, as far as they can be used.

    Parameters
    ----------
    group : str
        One of ``GROUPS``, not ``lockstep.checks``.

    Returns
    -------
    tuple of Values
        Each fits the schema of its group.
    """
    return tuple(plugin.value for plugin in plugins(group) if isinstance(plugin.value, dict))


def said(error: BaseException) -> str:
    """Say in one line what a plug-in raised, and where.

    Parameters
    ----------
    error : BaseException
        The exception.

    Returns
    -------
    str
        For instance ``KeyError: 'team' (checks.py, line 12)``.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" ({Path(last.tb_frame.f_code.co_filename).name}, line {last.tb_lineno})" if last is not None else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + where


@cache
def _entries() -> EntryPoints:
    return cast("EntryPoints", entry_points())  # before Python 3.12 of another class, with the same method


def _load(entry: EntryPoint) -> Plugin:
    package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    name, value, fault, began = f"{entry.name} ({entry.group}){package}", None, None, time.perf_counter()
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of the output
            value = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a stranger's module does is its fault
        fault = f"it cannot be loaded: {said(error)}"
    seconds = time.perf_counter() - began
    if fault is None and entry.group == CHECKS:
        fault = None if callable(value) else f"{entry.value} is no function"
    elif fault is None:
        value, fault = _table(entry, value)
    return Plugin(name, entry.group, None if fault else value, fault, seconds)


def _table(entry: EntryPoint, value: object) -> tuple[Values | None, str | None]:
    """Read a data file: its content, or why it cannot be used."""
    from jsonschema.validators import Draft7Validator  # slow to import, and few have plug-ins

    try:
        content = read(Path(cast("Path", value)))
    except (TypeError, LockstepError) as error:
        return None, f"{entry.value} is no readable YAML file: {said(error)}"
    schema = cast("Values", read(_SCHEMAS)[entry.group])
    wrong = next(Draft7Validator(schema).iter_errors(content), None)
    if wrong is not None:
        return None, f"{value}: {dotted(wrong.absolute_path) or 'the file'}: {wrong.message}"
    return content, None
