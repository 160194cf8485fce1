"""A finding points at the line of its key, or at the nearest line above it; no text of a file breaks that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.lines import line_of, lines

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# comment
group:
  nodes: 2
hooks:
  preLaunch:
    - name: first
    -
      name: second
base: &base
  labels: {team: a}
  top: 1
pod:
  <<: *base
  top: 2
pods: {a: 1,
  example.com/b: 2}
"""


@pytest.fixture
def known(tmp_path: Path) -> dict[str, int]:
    """Read the lines of the text."""
    file = tmp_path / "a.yaml"
    file.write_text(TEXT)
    return lines(file)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("group.nodes", 3, id="key"),
        pytest.param("hooks.preLaunch[0].name", 6, id="item"),
        pytest.param("hooks.preLaunch[1].name", 8, id="item-on-its-own-line"),
        pytest.param("pod.labels.team", 10, id="where-the-alias-leads"),
        pytest.param("pod.top", 14, id="a-key-wins-over-a-merged-one"),
        pytest.param("pods.example.com/b", 16, id="dots-in-a-key"),
        pytest.param("group.gpusPerNode", 2, id="missing-key"),
        pytest.param("hooks.preLaunch[7].name", 5, id="missing-item"),
        pytest.param("groups.nodes", 1, id="a-name-that-only-begins-alike"),
        pytest.param("", 1, id="whole-file"),
    ],
)
def test_the_line_of_a_path(path: str, expected: int, known: dict[str, int]) -> None:
    """The key itself, else the nearest above it, else the first line."""
    assert expected == line_of(path, known)


def test_an_object_is_found_by_kind_and_name(tmp_path: Path) -> None:
    """Also in a second document and in a List."""
    file = tmp_path / "objects.yaml"
    file.write_text(
        "kind: Job\nmetadata:\n  name: a\n---\n# next\napiVersion: v1\nkind: List\nitems:\n"
        "  - metadata: {name: b}\n    kind: Job\n"
    )
    known = lines(file)

    assert line_of("Job/a", known) == 1
    assert line_of("Job/b/leader", known) == 9
    assert line_of("Job/c", known) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"a: [1,,2]\n", id="no-yaml"),
        pytest.param(b"a: \xe9\n", id="no-utf8"),
        pytest.param(b"? [a]\n: 2\n", id="list-as-key"),
    ],
)
def test_a_file_that_cannot_be_read_has_no_lines(content: bytes, tmp_path: Path) -> None:
    """What is wrong with it is said by the check."""
    file = tmp_path / "a.yaml"
    file.write_bytes(content)

    assert lines(file) == {}
    assert lines(tmp_path / "missing.yaml") == {}


def test_aliases_that_grow_without_bound_are_cut(tmp_path: Path) -> None:
    """Eight lines of aliases stand for a hundred million keys."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "a0: &a0 {}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 9))
    )
    began = time.process_time()

    assert lines(file)["a0"] == 1
    assert time.process_time() - began < 20


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab:-[]{}&* \n#<|>\"'", max_size=40))
def test_any_text_has_lines_or_none(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """No text ends in an exception, and every line is one of the file."""
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(text)

    assert all(1 <= line <= text.count("\n") + 1 for line in lines(file).values())
