"""`lockstep check --manifests`: exit codes, standard input, and files that are no manifests."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from lockstep.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = Path(__file__).parent / "files"
RIGHT = FILES / "lws-sglang.yaml"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a text on standard input."""

    def put(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))

    return put


def test_right_manifests_pass_beside_right_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Both kinds of files in one call, each with its own line."""
    values = Path(__file__).parents[3] / "values/examples/deepseek-r1-16xh100.yaml"

    assert 0 == main(["check", str(values), "--manifests", str(RIGHT)])
    assert f"{RIGHT}: no findings\n" in capsys.readouterr().out


def test_standard_input_is_read(given: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    """What another chart renders can be piped in; a finding's path names the object."""
    given(RIGHT.read_text(encoding="utf-8").replace('- "2"', '- "4"'))

    assert 1 == main(["check", "--manifests", "-", "--output", "json"])
    (finding, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert ("PAR001", "-", "LeaderWorkerSet/sglang") == (finding["code"], finding["file"], finding["path"])


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param("VAL001", "a: [", id="no YAML"),
        pytest.param("VAL001", "- a", id="a list"),
        pytest.param("nothing was checked", "", id="empty"),
        pytest.param("nothing was checked", "apiVersion: v1\nkind: Service\nmetadata: {name: a}", id="nothing in it"),
        pytest.param(
            "Job/a was not checked",
            "kind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{resources: {limits: "
            "{nvidia.com/gpu: 1}}}]}}}",
            id="a kind that is not read",
        ),
    ],
)
def test_what_is_no_manifest_is_said(
    given: Callable[[str], None], capsys: pytest.CaptureFixture[str], expected: str, text: str
) -> None:
    """One finding, never silence."""
    given(text)

    main(["check", "--manifests", "-"])

    assert expected in capsys.readouterr().out


def test_a_file_that_is_not_there_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and one sentence."""
    assert 2 == main(["check", "--manifests", str(tmp_path / "none.yaml")])
    assert "none.yaml: cannot be read (No such file or directory)\n" in capsys.readouterr().err
