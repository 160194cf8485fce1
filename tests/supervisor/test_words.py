"""The names of states and reasons are the same in the code, in the metrics and in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from group import words

PAGE = (Path(__file__).parents[2] / "docs" / "lifecycle.md").read_text()
GROUPS = [words.STATES, words.FAULTS, words.STOPS, words.WAITS, words.REFUSALS, words.DROPS, words.FAILURES]


def test_no_name_has_two_meanings() -> None:
    """A name stands in one list only."""
    names = [name for group in GROUPS for name in group]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "meaning"), [pair for group in GROUPS for pair in group.items()], ids=lambda _: "")
def test_the_docs_say_the_same(name: str, meaning: str) -> None:
    """Every name and its meaning are a row of a table in docs/lifecycle.md."""
    assert f"| `{name}` | {meaning} |" in PAGE


def test_the_picture_shows_every_state() -> None:
    """The states in the picture are the states."""
    picture = (Path(__file__).parents[2] / "docs" / "lifecycle.svg").read_text()
    bold = picture.partition('font-weight="bold"')[2].partition("</g>")[0]

    assert set(words.STATES) == set(re.findall(r">([a-z]+)</text>", bold))
