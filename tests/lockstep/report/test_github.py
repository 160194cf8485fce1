"""Findings as annotations: one command a finding, at its line, with nothing in it that ends the command early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.cli import main
from lockstep.findings import Finding
from lockstep.report import write

from .example import HOSTILE, write_wrong

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_annotation_stands_at_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named as the repository has it."""
    file = write_wrong(tmp_path)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    code = main(["check", "--output", "github", str(file)])
    first, *others = capsys.readouterr().out.splitlines()

    assert code == 1
    assert first == (
        "::error file=wrong.yaml,line=6,title=ENG001 engine.args.tensor-parallel-size::"
        "engine.args.tensor-parallel-size sets --tensor-parallel-size, which Lockstep derives. "
        "Remove it and use parallelism.tensor."
    )
    assert {"::warning file=wrong.yaml"} == {line.partition(",")[0] for line in others}


def test_errors_come_first(tmp_path: Path) -> None:
    """GitHub shows the first ten of a step."""
    warning = Finding("OPS011", "replicas", "One", "Two.")
    text = write("github", [(tmp_path / "a.yaml", [warning]), (tmp_path / "b.yaml", [HOSTILE])])

    assert [line.partition(" ")[0] for line in text.splitlines()] == ["::error", "::warning"]


def test_a_message_cannot_end_its_command(tmp_path: Path) -> None:
    """Line breaks, percent signs, colons and commas are escaped as GitHub's own toolkit escapes them."""
    text = write("github", [(tmp_path / "a,b.yaml", [HOSTILE])])

    assert len(text.splitlines()) == 1
    assert "/a%2Cb.yaml,line=1,title=PAR001 a%2Cb%3Ac::50%25 of%0D%0Athe <GPUs>" in text


def test_no_findings_are_no_annotations(tmp_path: Path) -> None:
    """A right file says nothing."""
    assert write("github", [(tmp_path / "a.yaml", [])]) == ""


def test_an_entry_is_pointed_at_by_its_own_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where its key has dots or slashes, and stands among others."""
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "model: {id: deepseek-ai/DeepSeek-R1}\nengine: {name: vllm}\nstack: {name: lws}\n"
        "group: {nodes: 2, gpusPerNode: 8}\n"
        "pod:\n  labels:\n    team: a\n    app.kubernetes.io/name: x\n"
        "  volumes: {x: {emptyDir: {}}}\n  volumeMounts:\n    /data: {name: x}\n    /dev/shm: {name: x}\n"
    )
    main(["check", "--output", "github", str(file)])
    errors = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::error")]

    assert ["line=8", "line=12"] == [line.split(",")[1] for line in errors]
    assert ["STK005 pod.labels.app.kubernetes.io/name", "OPS003 pod.volumeMounts./dev/shm"] == [
        line.partition("title=")[2].partition("::")[0] for line in errors
    ]
