"""The picture of a change: which group loads in which step on each stack, in the terminal and as a page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from lockstep.cli import main
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, Any] = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
    "replicas": 3,
}
ARGUMENTS = {"engine": {"args": {"max-model-len": 1024}}}
ROW = re.compile(r"^(m-\S+(?: \(surge\))?) +((?:[oLn.] +)*[oLn.]) *$", re.MULTILINE)


def drawn(folder: Path, capsys: pytest.CaptureFixture[str], before: dict[str, Any], change: dict[str, Any]) -> str:
    """Run the command and return what it says; the page lies in ``page.html``."""
    files = [folder / "m.yaml", folder / "after.yaml"]
    for file, layers in zip(files, ([BASE, before], [BASE, before, change]), strict=True):
        file.write_text(json.dumps(stack(layers)), encoding="utf-8")
    assert 0 == main(["diff", *map(str, files), "--html", str(folder / "page.html")])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("expected", "heading", "before", "change"),
    [
        pytest.param(
            {"m-2": "o L n n n", "m-1": "o o L n n", "m-0": "o o o L n"}, "at least 2 groups serve, 0 spare GPUs",
            {}, ARGUMENTS, id="one at a time from the highest",
        ),
        pytest.param(
            {"m-2": "o o L n n n", "m-1": "o o o L n n", "m-0": "o o o o L n", "m-3 (surge)": ". L n n n ."},
            "at least 3 groups serve, 16 spare GPUs",
            {"rollout": {"maxUnavailable": 0, "maxSurge": 1}}, ARGUMENTS, id="a surge first",
        ),
        pytest.param(
            {"m-2": "o L n n", "m-1": "o L n n", "m-0": "o o L n"}, "at least 1 group serves, 0 spare GPUs",
            {"rollout": {"maxUnavailable": 2}}, ARGUMENTS, id="two at a time",
        ),
        pytest.param(
            {"m-2": "o L n", "m-1": "o o o", "m-0": "o o o"}, "at least 2 groups serve",
            {"rollout": {"partition": 2}}, ARGUMENTS, id="a partition keeps the groups below it",
        ),
        pytest.param(
            {"m-0": "o o o", "m-1": "o o o", "m-2": "o o o", "m-3": ". L n"}, "at least 3 groups serve, 16 spare GPUs",
            {}, {"replicas": 4}, id="one more",
        ),
        pytest.param(
            {"m-n2-0": "o L n n n", "m-n2-1": "o o L n n", "m-n2-2": "o o o L n"}, "at least 2 groups serve",
            {"stack": {"name": "grove"}}, ARGUMENTS, id="from the lowest on grove",
        ),
    ],
)  # fmt: skip
def test_the_steps_of_each_group(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    expected: dict[str, str],
    heading: str,
    before: dict[str, Any],
    change: dict[str, Any],
) -> None:
    """A letter for each step: o serves as it was, L loads, n serves as it will be."""
    said = drawn(tmp_path, capsys, before, change)

    assert expected == {name: " ".join(states.split()) for name, states in ROW.findall(said)}, said
    assert heading in said


def test_what_is_frozen_is_exchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stack kueue all groups stop before the new ones load."""
    said = drawn(tmp_path, capsys, {"stack": {"name": "kueue"}}, ARGUMENTS)

    assert ["o . ."] * 3 + [". L n"] * 3 == [" ".join(states.split()) for _, states in ROW.findall(said)], said
    assert "frozen, so exchanged: nothing serves for a model load, 0 spare GPUs" in said


def test_many_groups_are_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A picture of a hundred rows says less than one of twelve."""
    said = drawn(tmp_path, capsys, {"replicas": 100}, ARGUMENTS)

    assert 12 == len(ROW.findall(said))
    assert "and 88 more in the same way" in said


def test_the_page_needs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file with the sentences, the drawing and its own colours for light and dark."""
    said = drawn(tmp_path, capsys, {}, ARGUMENTS)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")

    assert said.splitlines()[0] in page
    assert 15 == page.count("<rect")
    assert [] == re.findall(r"(?:src|href)=|url\(|@import", page)
    assert page.count("prefers-color-scheme: dark") == 2


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and which file."""
    file = tmp_path / "m.yaml"
    file.write_text(json.dumps(BASE))

    assert 2 == main(["diff", str(file), str(file), "--html", str(tmp_path / "no" / "page.html")])
    assert "page.html: cannot be written" in capsys.readouterr().err
