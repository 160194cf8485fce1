"""What ships is right: every example passes the checks, and every preset fits under a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.checks import run
from lockstep.codes import Severity
from lockstep.inputs import Input, is_release_name, release_name

if TYPE_CHECKING:
    from pathlib import Path

VALUES = share.folder("values")
CHART = share.folder("charts") / "serving"
EXAMPLES = sorted((VALUES / "examples").glob("*.yaml"))
PRESETS = sorted(file for file in VALUES.glob("*/*.yaml") if file.parent.name != "examples")


def errors(given: Input) -> list[str]:
    """Give the messages of the errors."""
    return [f"{row.code} {row.message}" for row in run(given) if row.severity is Severity.ERROR]


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in EXAMPLES])
def test_an_example_passes(file: Path) -> None:
    """And its name can be a release."""
    name = release_name(file)

    assert is_release_name(name)
    assert [] == errors(Input(file, (), CHART, name, "default"))


@pytest.mark.parametrize("preset", [pytest.param(file, id=f"{file.parent.name}-{file.stem}") for file in PRESETS])
def test_a_preset_fits_the_schema(preset: Path, tmp_path: Path) -> None:
    """Beneath a release, no preset brings a key or value that the chart does not know."""
    file = tmp_path / "demo.yaml"
    file.write_text("engine: {name: vllm}\nstack: {name: lws}\nmodel: {id: a/b}\ngroup: {nodes: 1, gpusPerNode: 1}\n")
    codes = {row.code for row in run(Input(file, (preset,), CHART, "demo", "default"))}

    assert set() == codes & {"VAL001", "VAL002"}
