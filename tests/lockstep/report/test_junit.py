"""Findings as JUnit XML: read back by a reader of that format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from junitparser import JUnitXml

from lockstep.cli import main
from lockstep.report import write

from .example import HOSTILE, write_wrong

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = (
    "model: {id: Qwen/Qwen3-8B}\nengine: {name: vllm}\nstack: {name: deployment}\ngroup: {nodes: 1, gpusPerNode: 1}\n"
)


@pytest.mark.parametrize(("options", "failures"), [pytest.param([], 1, id="plain"), (["--strict"], 3)])
def test_a_finding_that_fails_the_check_is_a_failure(
    options: list[str], failures: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning is one with --strict only, as the exit code has it."""
    file = write_wrong(tmp_path)
    code = main(["check", "--output", "junit", *options, str(file)])
    read = JUnitXml.fromstring(capsys.readouterr().out.encode())
    (suite,) = read
    failed = [case for case in suite if case.result]

    assert code == 1
    assert (read.tests, read.failures) == (suite.tests, suite.failures) == (3, failures)
    assert len(failed) == failures
    assert failed[0].name == "ENG001 engine.args.tensor-parallel-size"
    assert failed[0].result[0].type == "ENG001"
    assert f"{file}:6: engine.args.tensor-parallel-size sets" in failed[0].result[0].text


def test_every_file_is_a_suite_with_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report in which a file that passes were missing would say less than it knows."""
    right = tmp_path / "right.yaml"
    right.write_text(RIGHT + "replicas: 2\nweights: {source: pvc, claim: models}\n")
    code = main(["check", "--output", "junit", str(right), str(write_wrong(tmp_path))])
    read = JUnitXml.fromstring(capsys.readouterr().out.encode())

    assert code == 1
    assert [(str(right), 1, 0), (str(tmp_path / "wrong.yaml"), 3, 1)] == [
        (suite.name, suite.tests, suite.failures) for suite in read
    ]


def test_no_text_breaks_the_document(tmp_path: Path) -> None:
    """Markup is escaped, and what XML cannot hold at all is written as its code."""
    read = JUnitXml.fromstring(write("junit", [(tmp_path / "a.yaml", [HOSTILE])]).encode())
    (case,) = next(iter(read))

    assert case.result[0].text.endswith("the <GPUs> & \\x1b[31m. Say \\x07 \\xfffe \U0001f600.")
