"""`lockstep check` and the chart agree on every row of the table, code for code."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockstep import helm, share
from lockstep.checks import run
from lockstep.codes import Layer, Severity, registry
from lockstep.inputs import Input

from .table import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.findings import Finding

CHART = share.folder("charts") / "serving"
CODE = re.compile(r"^ *([A-Z]{3}[0-9]{3}) ", re.MULTILINE)


def codes(findings: list[Finding], severity: Severity, *layers: Layer) -> list[str]:
    """Give the codes of a severity and of some layers, sorted, once each."""
    rows = {finding.code: registry()[finding.code] for finding in findings}
    return sorted(code for code, row in rows.items() if row.severity is severity and row.layer in layers)


def helm_install(given: Input) -> subprocess.CompletedProcess[str]:
    """Render with Helm without a cluster, the notes included."""
    return subprocess.run(
        [helm.find(), "install", given.name, given.chart, "--values", given.file, "--dry-run=client"],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases()])
def test_helm_and_the_checks_agree(case: Case, tmp_path: Path) -> None:
    """Same verdict, same codes, same numbers in the messages."""
    file = tmp_path / "values.yaml"
    file.write_text(case.text, encoding="utf-8")
    given = Input(file, (), CHART, case.name, "default")
    findings = run(given)
    rendered = helm_install(given)
    said = "\n".join(f"{finding.message} {finding.fix}" for finding in findings)
    errors = codes(findings, Severity.ERROR, *Layer)

    if case.expect == "ok":
        assert (errors, rendered.returncode) == ([], 0), said + rendered.stderr
        assert "VAL" not in said
        notes = rendered.stdout.partition("\nNOTES:\n")[2]
        warned = codes(findings, Severity.WARNING, Layer.CHART)
        assert sorted(set(CODE.findall(notes))) == warned
        assert case.warns is None or sorted(case.warns) == codes(findings, Severity.WARNING, *Layer)
    elif case.expect == "file":
        assert errors == ["VAL001"], said
        assert_says(case, said)
    elif case.expect == "schema":
        assert errors == ["VAL002"], said
        assert rendered.returncode
        assert "values don't meet the specifications of the schema" in rendered.stderr
        assert_says(case, said)
    else:
        by_chart = sorted(code for code in case.expect if registry()[code].layer is Layer.CHART)
        assert sorted(case.expect) == errors, said + rendered.stderr
        assert by_chart == sorted(set(CODE.findall(rendered.stderr))), rendered.stderr
        assert bool(rendered.returncode) == bool(by_chart)
        assert_says(case, said)
        if by_chart:
            assert_says(case, rendered.stderr)


def assert_says(case: Case, text: str) -> None:
    """Look for the fragments of a row."""
    missing = [fragment for fragment in case.says if fragment not in text]

    assert [] == missing, text
