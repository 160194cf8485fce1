"""Proves that docs/plan.md shows what the command prints today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lockstep.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "plan.md"


def examples() -> Iterator[tuple[str, str]]:
    """Yield each command of the page with the output that stands below it."""
    for block in re.findall(r"```console\n\$ (.+?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        command, _, output = block.partition("\n")
        yield command, output


@pytest.mark.parametrize(("command", "output"), list(examples()))
def test_example_prints_what_it_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, output: str
) -> None:
    """Each console block is a command and its output, blanks at line ends aside."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    main(shlex.split(command)[1:])
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())

    assert output.strip() == printed.strip()
