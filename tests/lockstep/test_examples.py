"""What ships is right: every example passes the checks, and every preset fits under a release."""

from __future__ import annotations

import re
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


# A first file has one replica and downloads its weights; RDMA pins memory.
PLAIN = {"OPS010", "OPS011", "SEC001"}
# What these examples are about: two groups without a gang scheduler, and a patch of the engine.
WARNED = {"kimi-k2-16xh200": {"STK007"}, "qwen3-235b-16xgaudi3": {"PAR015"}}


def errors(given: Input) -> list[str]:
    """Give the messages of the errors."""
    return [f"{row.code} {row.message}" for row in run(given) if row.severity is Severity.ERROR]


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in EXAMPLES])
def test_an_example_passes(file: Path) -> None:
    """And its name can be a release."""
    name = release_name(file)

    assert is_release_name(name)
    assert [] == errors(Input(file, (), CHART, name, "default"))


def beneath(file: Path) -> tuple[Path, ...]:
    """Give the presets that the head of an example names."""
    head = file.read_text(encoding="utf-8").partition("\nmodel:")[0]
    return tuple(VALUES.parent / name for name in re.findall(r"values/\w+/[\w.-]+\.yaml", head))


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in EXAMPLES])
def test_an_example_warns_of_nothing_that_it_could_avoid(file: Path) -> None:
    """Above the presets that it names, so that memory is judged where they name the accelerator."""
    warned = {row.code for row in run(Input(file, beneath(file), CHART, release_name(file), "default"))}

    assert warned - PLAIN == WARNED.get(file.stem, set())


@pytest.mark.parametrize("preset", [pytest.param(file, id=f"{file.parent.name}-{file.stem}") for file in PRESETS])
def test_a_preset_fits_the_schema(preset: Path, tmp_path: Path) -> None:
    """Beneath a release, no preset brings a key or value that the chart does not know."""
    file = tmp_path / "demo.yaml"
    file.write_text("engine: {name: vllm}\nstack: {name: lws}\nmodel: {id: a/b}\ngroup: {nodes: 1, gpusPerNode: 1}\n")
    codes = {row.code for row in run(Input(file, (preset,), CHART, "demo", "default"))}

    assert set() == codes & {"VAL001", "VAL002"}
