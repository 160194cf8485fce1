"""The page of all codes: whole, linked, and held to the registry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockstep.codes import Layer, registry
from lockstep.explain import document, main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_page_has_every_code_with_both_examples() -> None:
    """The table leads to a section for each, in the registry's order."""
    page = document()
    python = sum(row.layer is Layer.PLUGIN for row in registry().values())

    assert list(registry()) == re.findall(r"^## (\w+)$", page, re.MULTILINE)
    assert [code.lower() for code in registry()] == re.findall(r"^\| \[\w+\]\(#(\w+)\)", page, re.MULTILINE)
    assert 2 * (len(registry()) - python) == page.count("```yaml\n")
    assert 2 * python == page.count("```python\n")
    assert all(row.fails.rstrip() in page and row.passes.rstrip() in page for row in registry().values())


def test_a_page_that_is_out_of_date_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message is the command that mends it."""
    file = tmp_path / "codes.md"

    assert main([str(file), "--check"]) == 1
    assert main([str(file)]) == 0
    assert main([str(file), "--check"]) == 0
    file.write_text(file.read_text().replace("PAR001", "PAR000"))
    capsys.readouterr()
    assert main([str(file), "--check"]) == 1
    assert f"run `python -m lockstep.explain {file}`\n" in capsys.readouterr().err
