"""Findings as annotations of GitHub Actions.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands (error, warning); what is
escaped how is in https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.report.place import placed, shown

if TYPE_CHECKING:
    from lockstep.report import Reports


def write(reports: Reports, *, strict: bool) -> str:  # noqa: ARG001 - the severity is the command's name
    """Write one command a finding, errors first: GitHub shows no more than ten of a kind for one step.

    Parameters
    ----------
    reports : sequence of (Path, sequence of Finding)
        Each file with its findings.
    strict : bool
        Without effect.

    Returns
    -------
    str
        Lines for the log of a job.
    """
    rows = [(file, *row) for file, findings in reports for row in placed(file, findings)]
    return "\n".join(
        f"::{finding.severity.value} file={_property(shown(file))},line={line},"
        f"title={_property(f'{finding.code} {finding.path}'.rstrip())}::{_data(f'{finding.message}. {finding.fix}')}"
        for file, finding, line in sorted(rows, key=lambda row: row[1].severity.value)
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
