"""Findings: what a check has to say about one release."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockstep.codes import Severity, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from lockstep.yamlfile import Value


@dataclass(frozen=True)
class Finding:
    """One fault or warning.

    Parameters
    ----------
    code : str
        Its code; title, severity and reason are in :mod:`lockstep.codes`.
    path : str
        The values key to look at, for instance ``parallelism.tensor``; empty for the file as a whole.
    message : str
        What is wrong, with the numbers.
    fix : str
        The change that mends it.
    seen : mapping of str to Value
        The values that were read, by their path.
    """

    code: str
    path: str
    message: str
    fix: str
    seen: Mapping[str, Value] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """How grave it is."""
        return known()[self.code].severity

    def as_json(self, file: Path) -> dict[str, Value]:
        """Give the finding the shape of the JSON output.

        Parameters
        ----------
        file : Path
            The values file it belongs to.

        Returns
        -------
        dict
            Keys ``code severity file path message seen fix``.
        """
        return {
            "code": self.code,
            "severity": self.severity.value,
            "file": str(file),
            "path": self.path,
            "message": self.message,
            "seen": dict(self.seen),
            "fix": self.fix,
        }


def to_json(reports: Iterable[tuple[Path, Iterable[Finding]]]) -> str:
    """Write findings as JSON.

    Parameters
    ----------
    reports : iterable of (Path, iterable of Finding)
        Each file with its findings.

    Returns
    -------
    str
        One object with ``version`` and ``findings``.
    """
    rows = [finding.as_json(file) for file, findings in reports for finding in findings]
    return json.dumps({"version": 1, "findings": rows}, indent=2)


def has_errors(findings: Iterable[Finding], *, strict: bool = False) -> bool:
    """Say whether findings fail a check.

    Parameters
    ----------
    findings : iterable of Finding
        The findings.
    strict : bool
        Whether a warning fails, too.

    Returns
    -------
    bool
        True if so.
    """
    return any(strict or finding.severity is Severity.ERROR for finding in findings)
