"""Presets: each is a layer that renders under any other, says where its facts are from, and its facts are right."""

from __future__ import annotations

import re
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lockstep import share

from .rendering import ROOT, Object, render, text, values

if TYPE_CHECKING:
    from pathlib import Path

PRESETS = ROOT / "values"
ACCELERATORS = sorted((PRESETS / "accelerators").glob("*.yaml"))
FABRICS = sorted((PRESETS / "fabrics").glob("*.yaml"))
MODELS = sorted((PRESETS / "models").glob("*.yaml"))
FACTS: Object = yaml.safe_load((ROOT / "plugins" / "lockstep" / "facts" / "models.yaml").read_text(encoding="utf-8"))
LAYOUT: Object = {
    # The engine has no image of its own for every accelerator, and on Gaudi no pipeline parallelism of its own.
    "engine": {"name": "vllm", "image": {"repository": "example.com/vllm"}},
    "hooks": {"preLaunch": [{"name": "patch", "command": ["python3", "/patch.py"]}]},
    "stack": {"name": "lws"},
    "group": {"nodes": 2},
}


def test_there_are_enough_accelerators_for_a_turn_of_each_fabric_and_model() -> None:
    """Else the next test would leave some out."""
    assert len(ACCELERATORS) >= max(len(FABRICS), len(MODELS))


def load(file: Path) -> Any:
    """Read a preset."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("accelerator", "fabric", "model"),
    # Each appears; all pairs would render 120 times and prove no more, because layers merge key by key.
    list(zip(ACCELERATORS, cycle(FABRICS), cycle(MODELS), strict=False)),
    ids=lambda file: file.stem,
)
def test_accelerator_fabric_and_model_are_layers(accelerator: Path, fabric: Path, model: Path) -> None:
    """Both roles get the devices of both, and the fabric's variables."""
    rendered = render(accelerator, fabric, model, LAYOUT)
    group, network = load(accelerator)["group"], load(fabric)["network"]
    for role in ("leader", "worker"):
        limits = rendered.engine(role)["resources"]["limits"]

        assert str(group["gpusPerNode"]) == limits[group["resourceName"]]
        assert {name: str(value) for name, value in network["env"].items()}.items() <= rendered.env(role).items()
        if "rdma" in network:
            assert str(network["rdma"]["count"]) == limits[network["rdma"]["resource"]]
            assert 0 == rendered.pod(role)["securityContext"]["runAsUser"]


@pytest.mark.parametrize("model", MODELS, ids=lambda file: file.stem)
def test_what_a_model_preset_says_of_its_model_is_what_the_facts_say(model: Path) -> None:
    """The header repeats layers, hidden size and heads for the reader; the facts are read by the checks."""
    header = model.read_text(encoding="utf-8").partition("\nmodel:")[0].replace("\n# ", " ")
    (facts,) = (row for row in FACTS["models"] if load(model)["model"]["id"] in row["ids"])
    config = facts["config"]

    assert facts["source"].rpartition("/blob")[0].rpartition("/")[2] in header
    assert f"{config['num_hidden_layers']} layers" in header
    assert f"hidden size {config['hidden_size']}" in header
    assert f"{config['num_attention_heads']} heads" in header


@pytest.mark.parametrize(
    "preset", [*ACCELERATORS, *FABRICS, *MODELS], ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_preset_names_a_source(preset: Path) -> None:
    """A number without a source cannot be checked by whom it fails."""
    comments = " ".join(re.findall(r"# (.*)", preset.read_text(encoding="utf-8")))

    assert re.search(r"https://|github\.com|user guide|feature discovery|operator", comments)


def test_the_node_labels_are_those_of_the_accelerator_facts() -> None:
    """The label by which a preset finds nodes is one that the checks know."""
    facts = load(share.folder("values").parent / "plugins" / "lockstep" / "facts" / "accelerators.yaml")
    known = {label for row in facts["accelerators"].values() for label in row["labels"]}

    assert (
        set()
        == {label for file in ACCELERATORS for label in load(file).get("pod", {}).get("nodeSelector", {}).values()}
        - known
    )


def test_a_layer_above_takes_a_preset_back() -> None:
    """A null removes what the file beneath set."""
    layers = (FABRICS[0], values({"network": {"rdma": None}, "resources": {"limits": None, "requests": None}}))

    assert "vpc.amazonaws.com/efa" in text(FABRICS[0], values())
    assert "vpc.amazonaws.com/efa" not in text(*layers)
