"""A hundred right releases and a hundred wrong ones: none is misjudged, and Helm refuses what the chart must refuse.

The rows are whole releases over the shipped presets, unlike those of tests/cases, which show one rule each on few keys.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lockstep import helm, share
from lockstep.checks import run
from lockstep.codes import Layer, Severity, registry
from lockstep.inputs import Input
from lockstep.yamlfile import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
CHART = share.folder("charts") / "serving"
CODE = re.compile(r"^ *([A-Z]{3}[0-9]{3}) ", re.MULTILINE)


def rows(name: str) -> list[dict[str, Any]]:
    """Read a table."""
    table: Any = parse("rows:\n" + (HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    return table["rows"]


RIGHT, WRONG = rows("right"), rows("wrong")
# One row of each code is enough for Helm: tests/cases gives it every row.
FIRST = list({code: row for row in reversed(WRONG) for code in row["codes"]}.values())


def layers(row: dict[str, Any]) -> set[Layer]:
    """Give who refuses a row."""
    return {registry()[code].layer for code in row["codes"]}


def given(row: dict[str, Any], folder: Path) -> Input:
    """Write a row as a file."""
    file = folder / "model.yaml"
    file.write_text(row.get("text") or json.dumps(row["values"]), encoding="utf-8")
    presets = tuple(share.folder("values") / f"{preset}.yaml" for preset in row.get("presets", ()))
    return Input(file, presets, CHART, "model", "default")


def errors(row: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Give code and message of each error."""
    for finding in run(given(row, folder)):
        if finding.severity is Severity.ERROR:
            yield finding.code, finding.message


def test_there_are_a_hundred_of_each() -> None:
    """Different ones: no two rows have one id or one content."""
    for table in (RIGHT, WRONG):
        contents = {json.dumps([row.get("presets"), row.get("values"), row.get("text")]) for row in table}
        ids = {row["id"] for row in table}

        assert min(len(ids), len(contents)) == len(table) >= 100


def test_no_right_release_has_an_error(tmp_path: Path) -> None:
    """Warnings are none."""
    assert {} == {row["id"]: found for row in RIGHT if (found := list(errors(row, tmp_path)))}


def test_every_wrong_release_has_its_errors_and_no_others(tmp_path: Path) -> None:
    """The codes that the row names."""
    found = {row["id"]: sorted({code for code, _ in errors(row, tmp_path)}) for row in WRONG}

    assert {row["id"]: sorted(row["codes"]) for row in WRONG} == found


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["id"]) for row in FIRST if layers(row) & {Layer.CHART, Layer.SCHEMA}]
)
def test_helm_refuses_what_the_chart_must(row: dict[str, Any], tmp_path: Path) -> None:
    """Plain Helm, as Argo CD runs it, says the same codes of the chart's layer."""
    release = given(row, tmp_path)
    files = [word for file in release.files for word in ("--values", file)]
    done = subprocess.run(
        [helm.find(), "template", release.name, CHART, *files], capture_output=True, text=True, check=False
    )

    assert done.returncode
    if Layer.SCHEMA in layers(row):
        assert "values don't meet the specifications of the schema" in done.stderr
    else:
        by_chart = {code for code in row["codes"] if registry()[code].layer is Layer.CHART}
        assert by_chart == set(CODE.findall(done.stderr)), done.stderr


def test_every_error_of_values_has_a_wrong_release() -> None:
    """A code that no row has would be a rule that nobody was shown to break."""
    ours = {Layer.SCHEMA, Layer.CHART, Layer.CHECK}
    wanted = {code for code, row in registry().items() if row.severity is Severity.ERROR and row.layer in ours}

    assert wanted == {code for row in WRONG for code in row["codes"]}
