"""Files that a command writes because the command line names them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lockstep.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def require_writable(file: Path) -> None:
    """Refuse a file that could not be written, before the work whose result goes there.

    Parameters
    ----------
    file : Path
        Where the result will be written.

    Raises
    ------
    UsageError
        If its folder is not there, it is a folder itself, or the permissions do not allow it.
    """
    if not file.parent.is_dir():
        raise UsageError(f"{file}: cannot be written (there is no folder {file.parent})")
    if file.is_dir():
        raise UsageError(f"{file}: cannot be written (it is a folder)")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(f"{file}: cannot be written (no permission)")


def write(file: Path, text: str) -> None:
    """Write a file.

    Parameters
    ----------
    file : Path
        The file.
    text : str
        Its content.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written ({error.strerror})") from None
