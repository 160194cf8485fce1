"""Where the charts and presets lie: inside the installed wheel, or in the clone this package runs from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lockstep.errors import UsageError

_PACKAGE: Final = Path(__file__).parent


def folder(name: str) -> Path:
    """Find one of the folders that ship with Lockstep.

    Parameters
    ----------
    name : str
        ``charts`` or ``values``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UsageError
        If this installation has lost it.
    """
    for home in (_PACKAGE / "share", _PACKAGE.parents[1]):
        if (home / name).is_dir():
            return home / name
    raise UsageError(f"this installation of lockstep has no {name} folder; install lockstep-serving again")
