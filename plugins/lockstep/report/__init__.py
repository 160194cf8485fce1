"""Findings in the forms that people and services read; one module for each form."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

from lockstep.findings import to_json
from lockstep.report.text import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockstep.findings import Finding

    Reports: TypeAlias = Sequence[tuple[Path, Sequence[Finding]]]

__all__ = ["FORMS", "to_text", "write"]

FORMS: Final = {
    "text": "for people",
    "json": "every finding with the numbers it saw",
    "github": "annotations of GitHub Actions",
    "sarif": "SARIF 2.1.0, for code scanning",
    "junit": "JUnit XML, for GitLab, Jenkins and others",
}


def write(form: str, reports: Reports, *, strict: bool = False, colour: bool = False) -> str:
    """Write findings in one form.

    Parameters
    ----------
    form : str
        A key of ``FORMS``.
    reports : sequence of (Path, sequence of Finding)
        Each file with its findings.
    strict : bool
        Whether a warning is a failure, where a form tells failures apart.
    colour : bool
        Whether to colour the text.

    Returns
    -------
    str
        The whole output, without a line break at its end.
    """
    if form == "text":
        return to_text(reports, colour=colour)
    if form == "json":
        return to_json(reports)
    written: str = import_module(f"lockstep.report.{form}").write(reports, strict=strict)
    return written
