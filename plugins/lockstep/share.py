"""Where the charts and presets lie: inside the installed wheel, or in the clone this package runs from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lockstep.errors import UsageError

_PACKAGE: Final = Path(__file__).parent
_CLONE: Final = {"charts": "charts", "values": "values", "schemas": "tests/chart/schemas"}


def folder(name: str) -> Path:
    """Find one of the folders that ship with Lockstep.

    Parameters
    ----------
    name : str
        ``charts``, ``values`` or ``schemas``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UsageError
        If this installation has lost it.
    """
    for place in (_PACKAGE / "share" / name, _PACKAGE.parents[1] / _CLONE[name]):
        if place.is_dir():
            return place
    raise UsageError(f"this installation of lockstep has no {name} folder; install lockstep-serving again")
