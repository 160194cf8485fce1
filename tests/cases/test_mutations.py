"""The table is sharp: take one rule away, from the chart or from the checks, and a row fails."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockstep import checks, helm, share
from lockstep.codes import Layer, Severity, registry
from lockstep.inputs import Input
from lockstep.release import build

from .table import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

CHART = share.folder("charts") / "serving"
CODE = re.compile(r"^([A-Z]{3}[0-9]{3}) ", re.MULTILINE)
REFUSED = [case for case in cases() if isinstance(case.expect, list)]


def rules() -> list[tuple[Path, int, str]]:
    """Find every line of the chart that is a message of refusal: its file, number and code."""
    found = []
    for file in sorted((CHART / "templates").rglob("*.tpl")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
            match = CODE.match(line)
            if match and registry()[match[1]].severity is Severity.ERROR:
                found.append((file.relative_to(CHART), number, match[1]))
    return found


@pytest.mark.parametrize(
    ("file", "number", "code"), [pytest.param(*rule, id=f"{rule[2]}-{rule[0].stem}-{rule[1] + 1}") for rule in rules()]
)
def test_each_rule_of_the_chart_is_needed_by_a_row(file: Path, number: int, code: str, tmp_path: Path) -> None:
    """Without this line of a template, a row of its code is no longer refused as the table says."""
    chart = tmp_path / "serving"
    shutil.copytree(CHART, chart)
    lines = (chart / file).read_text(encoding="utf-8").splitlines()
    del lines[number]
    (chart / file).write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert any(chart_codes(case, chart, tmp_path) != expected(case) for case in REFUSED if code in case.expect)


def chart_codes(case: Case, chart: Path, folder: Path) -> set[str]:
    """Give the codes with which a chart refuses a row."""
    values = folder / "values.yaml"
    values.write_text(case.text, encoding="utf-8")
    done = subprocess.run(
        [helm.find(), "template", case.name, chart, "--values", values, "--show-only", "templates/validate.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    return set(CODE.findall(done.stderr))


def expected(case: Case) -> set[str]:
    """Give the codes that the table expects of the chart."""
    return {code for code in case.expect if registry()[code].layer is Layer.CHART}


def test_each_check_is_needed_by_a_row(tmp_path: Path) -> None:
    """Every check that can refuse what the chart refuses does so in a row, and lets another row through."""
    refuses: set[str] = set()
    passes: set[str] = set()
    for case in cases():
        if case.expect in ("schema", "file"):
            continue
        file = tmp_path / "values.yaml"
        file.write_text(case.text, encoding="utf-8")
        given = Input(file, (), CHART, case.name, "default")
        release = build(given, given.values())
        for check in checks.CHECKS:
            name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
            (refuses if list(check(release)) else passes).add(name)
    topics = {f"{check.__module__.rpartition('.')[2]}.{check.__name__}" for check in checks.CHECKS}
    elsewhere = {name for name in topics if name.startswith(("model.", "memory.", "plugins."))}  # in tests/lockstep

    assert topics - elsewhere == refuses - elsewhere
    assert topics == passes
