"""Where a finding points: a file as a service names it, and a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.lines import line_of, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockstep.findings import Finding

# Where GitHub and GitLab check a repository out; they know files by their path below it.
_ROOTS: Final = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def shown(file: Path) -> str:
    """Name a file relative to its repository.

    Parameters
    ----------
    file : Path
        A file.

    Returns
    -------
    str
        Its path with ``/`` below the checkout of the running job, else below the working folder; as it is when it
        lies elsewhere.
    """
    root = Path(next((os.environ[name] for name in _ROOTS if os.environ.get(name)), "."))
    try:
        return file.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return file.as_posix()


def placed(file: Path, findings: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    """Give each finding its line.

    Parameters
    ----------
    file : Path
        The values file.
    findings : sequence of Finding
        Its findings.

    Yields
    ------
    (Finding, int)
        The finding, and a line counted from 1.
    """
    known = lines(file) if findings else {}
    for finding in findings:
        seen = finding.seen.get("line")  # of a file that could not be read
        yield finding, seen if isinstance(seen, int) else line_of(finding.path, known)
