"""Swapping an engine or a stack is changing one word: every model preset runs on all of them, as it is.

A Deployment has groups of one node, so its turn is with one. Between nodes TensorRT-LLM also wants a Secret's name.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from lockstep.checks import run
from lockstep.codes import Severity
from lockstep.inputs import Input

from .rendering import CHART, ROOT, Object, render
from .test_matrix import STACKS

if TYPE_CHECKING:
    from pathlib import Path

MODELS: Final = sorted((ROOT / "values" / "models").glob("*.yaml"))
ACCELERATOR: Final = ROOT / "values" / "accelerators" / "b200-8.yaml"
ENGINES: Final = ("vllm", "sglang", "trtllm")
SWAPS: Final = list(product(MODELS, ENGINES, STACKS))


def given(engine: str, stack: str) -> Object:
    """Write a release in which these two words are all that changes."""
    values: Object = {"engine": {"name": engine}, "stack": {"name": stack}, "group": {"nodes": 2}}
    if stack == "deployment":
        values["group"] = {"nodes": 1}
    elif engine == "trtllm":
        values["engine"]["sshSecret"] = {"name": "ssh"}
    return values


@pytest.mark.parametrize(
    ("model", "engine", "stack"), SWAPS, ids=[f"{model.stem}-{engine}-{stack}" for model, engine, stack in SWAPS]
)
def test_a_preset_runs_on_every_engine_and_stack(model: Path, engine: str, stack: str, tmp_path: Path) -> None:
    """Helm and the checks accept it, and its flags are those that it has for this engine."""
    values = given(engine, stack)
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    findings = run(Input(file, (ACCELERATOR, model), CHART, "demo", "default"))
    rendered = render(ACCELERATOR, model, values)
    preset: Any = yaml.safe_load(model.read_text(encoding="utf-8"))
    flags = {f"--{name}" for name in preset["engine"]["argsFor"][engine]}

    assert [] == [row.message for row in findings if row.severity is Severity.ERROR]
    for role in rendered.templates():
        assert flags == {word for word in rendered.engine(role)["args"] if word.startswith("--")}


def test_a_preset_has_flags_for_every_engine_alone() -> None:
    """What stands in engine.args is given to whatever engine comes."""
    for model in MODELS:
        engine = yaml.safe_load(model.read_text(encoding="utf-8"))["engine"]

        assert ["argsFor"] == list(engine), model.stem
        assert set(ENGINES) == set(engine["argsFor"]), model.stem
