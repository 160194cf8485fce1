"""Findings as text for people."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, Final

from lockstep.codes import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from lockstep.findings import Finding

_COLOURS: Final = {Severity.ERROR: "31", Severity.WARNING: "33"}
_WIDTH: Final = 110


def to_text(reports: Iterable[tuple[Path, Sequence[Finding]]], *, colour: bool) -> str:
    """Write findings as text.

    Parameters
    ----------
    reports : iterable of (Path, sequence of Finding)
        Each file with its findings.
    colour : bool
        Whether to colour severities; the variable NO_COLOR overrules it.

    Returns
    -------
    str
        For each file its findings and a closing line with their number.
    """
    colour = colour and not os.environ.get("NO_COLOR")
    return "\n".join(_file(file, findings, colour=colour) for file, findings in reports)


def _file(file: Path, findings: Sequence[Finding], *, colour: bool) -> str:
    ordered = sorted(findings, key=lambda finding: finding.severity is Severity.WARNING)
    blocks = [block(finding, colour=colour) for finding in ordered]
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    counts = ", ".join(_count(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number)
    return "\n".join([*blocks, f"{file}: {counts or 'no findings'}"])


def block(finding: Finding, *, colour: bool = False) -> str:
    """Write one finding.

    Parameters
    ----------
    finding : Finding
        The finding.
    colour : bool, optional
        Whether to colour its severity.

    Returns
    -------
    str
        Severity, code and path; below them, indented, what is wrong and what mends it.
    """
    severity = finding.severity.value
    if colour:
        severity = f"\033[{_COLOURS[finding.severity]}m{severity}\033[0m"
    where = f" {finding.path}" if finding.path else ""
    body = textwrap.wrap(f"{finding.message}.", _WIDTH - 2) + textwrap.wrap(finding.fix, _WIDTH - 2)
    return f"{severity} {finding.code}{where}\n" + "\n".join(f"  {line}" for line in body)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
