"""Every example renders exactly what lies in tests/chart/golden; `python -m tests.chart.goldens` writes them anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import goldens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("example", goldens.EXAMPLES, ids=lambda file: file.stem)
def test_an_example_renders_its_golden(example: Path) -> None:
    """A difference is either a fault or a change that a reviewer should see."""
    assert (goldens.FOLDER / example.name).read_text(encoding="utf-8") == goldens.golden(example)


def test_every_golden_has_its_example() -> None:
    """A golden whose example went away proves nothing."""
    assert {file.name for file in goldens.EXAMPLES} == {file.name for file in goldens.FOLDER.glob("*.yaml")}
