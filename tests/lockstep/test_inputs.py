"""Where a release's name comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.checks import run
from lockstep.inputs import Input, is_release_name, release_name
from lockstep.share import folder


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param("deepseek-r1.yaml", "deepseek-r1", id="stem"),
        pytest.param("deployments/prod/deepseek-r1/values.yaml", "deepseek-r1", id="folder"),
        pytest.param("deployments/prod/deepseek-r1/values.yml", "deepseek-r1", id="folder-yml"),
        pytest.param("llama-3.1.yaml", "llama-3.1", id="dots-stay"),
    ],
)
def test_a_release_is_named_after_its_file(file: str, expected: str) -> None:
    """The file's stem, or its folder when every file is called values.yaml."""
    assert expected == release_name(Path(file))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("a", True, id="one-letter"),
        pytest.param("1abc", True, id="leading-digit"),
        pytest.param("llama-3.1", True, id="dot"),
        pytest.param("a" * 53, True, id="53"),
        pytest.param("a" * 54, False, id="54"),
        pytest.param("", False, id="empty"),
        pytest.param("Abc", False, id="capital"),
        pytest.param("a_b", False, id="underscore"),
        pytest.param("a-", False, id="trailing-dash"),
        pytest.param("a\n", False, id="line-break"),
    ],
)
def test_names_that_helm_takes(name: str, expected: bool) -> None:
    """Helm's rule, not yet the stack's."""
    assert expected == is_release_name(name)


def test_a_fault_of_a_file_beneath_names_that_file(tmp_path: Path) -> None:
    """Its line is no line of the file on top."""
    base, file = tmp_path / "base.yaml", tmp_path / "mine.yaml"
    base.write_text("a: 1\na: 2\n")
    file.write_text("{}\n")
    (finding,) = run(Input(file, (base,), folder("charts") / "serving", "mine", "default"))

    assert finding.message == f"{base}, which lies beneath it: line 2: the key `a` is given twice (first on line 1)"
    assert {} == finding.seen
