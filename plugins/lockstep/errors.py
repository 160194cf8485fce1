"""What can stop Lockstep before it has an answer, each with the exit code it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class LockstepError(Exception):
    """A condition that ends the command with one message and no traceback.

    Parameters
    ----------
    message : str
        What was read, what is wrong with it, and what to change.
    """

    exit_code: ClassVar[int] = 2


class UsageError(LockstepError):
    """The command line asks for something that is not there (a missing file, no Helm)."""


class ValuesError(LockstepError):
    """A values file cannot be read as one YAML mapping (finding VAL001).

    Parameters
    ----------
    message : str
        What is wrong with the file.
    line : int, optional
        Line of the fault, counted from 1.

    Attributes
    ----------
    file : Path, optional
        The release's file, for a command that has no other place to name it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line
        self.file: Path | None = None


class RenderError(LockstepError):
    """Helm refused to render the chart with these values; the message is Helm's own."""

    exit_code: ClassVar[int] = 1
