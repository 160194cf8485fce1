"""Proves what `lockstep check` says of a model's shape and memory, from a values file to the finding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from lockstep import share
from lockstep.checks import run
from lockstep.inputs import Input

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.findings import Finding

H100 = "NVIDIA-H100-80GB-HBM3"
QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 5120,
    "intermediate_size": 27648,
    "num_hidden_layers": 64,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "vocab_size": 152064,
}


def found(
    folder: Path,
    model: str = "deepseek-ai/DeepSeek-R1",
    nodes: int = 2,
    gpus: int = 8,
    *,
    label: str | None = H100,
    leader: str | None = None,
    args: dict[str, object] | None = None,
    env: dict[str, str] | None = None,
    config: str | None = None,
    **parallelism: int,
) -> dict[str, Finding]:
    """Check a release and return the findings of shape and memory by code."""
    values: dict[str, object] = {
        "model": {"id": model, **({"config": config} if config else {})},
        "engine": {"name": "vllm", "args": args or {}, "env": env or {}},
        "stack": {"name": "lws"},
        "group": {"nodes": nodes, "gpusPerNode": gpus},
        "parallelism": parallelism,
    }
    if label:
        values["pod"] = {"nodeSelector": {"nvidia.com/gpu.product": label}}
    if leader:
        values["leader"] = {"nodeSelector": {"nvidia.com/gpu.product": leader}}
    file = folder / "release.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    findings = run(Input(file, (), share.folder("charts") / "serving", "release", "default"))
    return {f.code: f for f in findings if f.code.startswith(("PAR0", "MEM")) and f.code != "PAR010"}


def test_right_layout_has_no_finding(tmp_path: Path) -> None:
    """Tensor 8 x pipeline 2 on two nodes of H100 is right."""
    assert {} == found(tmp_path, tensor=8, pipeline=2)


def test_too_little_memory_is_refused_with_the_numbers(tmp_path: Path) -> None:
    """The message names every term, the fix the number of GPUs that is enough."""
    finding = found(tmp_path, nodes=1, tensor=8)["MEM001"]

    assert "each GPU needs 79.3 GiB for weights" in finding.message
    assert "gpu-memory-utilization 0.92 of h100-80gb (79.2 GiB)" in finding.message
    assert "parallelism.pipeline: 2 over 16 GPUs" in finding.fix


@pytest.mark.parametrize("label", [None, "NVIDIA-Something-Else"])
def test_unknown_accelerator_is_not_judged(tmp_path: Path, label: str | None) -> None:
    """Without a node selector that names a known accelerator nothing is said of memory."""
    assert {} == found(tmp_path, nodes=1, tensor=8, label=label)


def test_selectors_that_disagree_are_not_judged(tmp_path: Path) -> None:
    """Leader and workers on different accelerators are more than the arithmetic knows."""
    assert {} == found(tmp_path, leader="NVIDIA-H200", tensor=1, nodes=1, gpus=1)


@pytest.mark.parametrize(
    "args",
    [{"cpu-offload-gb": 20}, {"max-model-len": "auto"}, {"hf-overrides": {"num_hidden_layers": 1}}],
    ids=str,
)
def test_what_cannot_be_worked_out_is_not_judged(tmp_path: Path, args: dict[str, object]) -> None:
    """Flags that change weights or cache silence the memory check."""
    assert {} == found(tmp_path, nodes=1, args=args, tensor=8)


FLAGS = {
    "length": {"max-model-len": "16k"},
    "fp8 cache": {"max-model-len": 45056, "kv-cache-dtype": "fp8"},
    "fp8 weights": {"max-model-len": 32768, "quantization": "fp8"},
    "more memory": {"max-model-len": 8192, "gpu-memory-utilization": 0.98},
}


@pytest.mark.parametrize("args", FLAGS.values(), ids=FLAGS)
def test_flags_count(tmp_path: Path, args: dict[str, object]) -> None:
    """A 70B model in bfloat16 on two H100 fits with each of these and fails without."""
    model, layout = "meta-llama/Llama-3.3-70B-Instruct", {"tensor": 2}

    assert "MEM001" in found(tmp_path, model, 1, 2, **layout)
    assert "MEM001" not in found(tmp_path, model, 1, 2, args=args, **layout)


def test_memory_is_not_judged_when_the_law_is_broken(tmp_path: Path) -> None:
    """One fault, one finding: the split will change anyway."""
    assert ["PAR001"] == list(found(tmp_path, tensor=6, pipeline=2))


def test_partition_by_hand_moves_the_weights(tmp_path: Path) -> None:
    """A partition that puts nearly all layers on one stage does not fit."""
    assert "MEM001" in found(tmp_path, env={"VLLM_PP_LAYER_PARTITION": "58,3"}, tensor=8, pipeline=2)


def test_partition_that_does_not_add_up_is_refused(tmp_path: Path) -> None:
    """The layers and the stages that are there are named."""
    finding = found(tmp_path, env={"VLLM_PP_LAYER_PARTITION": "30,30"}, tensor=8, pipeline=2)["PAR004"]

    assert "names 2 stages with 60 layers; there are 2 stages and 61 layers" in finding.message


def test_unknown_model_is_said_to_be_unknown(tmp_path: Path) -> None:
    """Neither shape nor memory is guessed."""
    findings = found(tmp_path, "example/our-own", tensor=8, pipeline=2)

    assert ["PAR020"] == list(findings)
    assert "Set model.config" in findings["PAR020"].fix


def test_config_beside_the_values_is_read(tmp_path: Path) -> None:
    """A model that is not in the facts is judged by its own config."""
    (tmp_path / "config.json").write_text(json.dumps(QWEN), encoding="utf-8")

    findings = found(tmp_path, "example/our-own", config="config.json", tensor=16)

    assert ["PAR002"] == list(findings)
    assert "40 attention heads cannot be dealt to 16 ranks" in findings["PAR002"].message


def test_unknown_architecture_is_said_to_be_unknown(tmp_path: Path) -> None:
    """A config of a family that Lockstep does not know is no error, and no guess."""
    (tmp_path / "config.json").write_text('{"architectures": ["OurOwnForCausalLM"]}', encoding="utf-8")

    findings = found(tmp_path, "example/our-own", config="config.json", tensor=8, pipeline=2)

    assert ["PAR020"] == list(findings)
    assert "OurOwnForCausalLM" in findings["PAR020"].message


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"quantization_config": {"quant_method": "magic"}}, ["PAR020", "PAR002"]),
        ({"num_attention_heads": None}, ["PAR020"]),
        ({"num_attention_heads": "40"}, ["PAR021"]),
    ],
    ids=["quantisation", "missing key", "wrong type"],
)
def test_what_is_not_known_is_a_warning(tmp_path: Path, change: dict[str, object], codes: list[str]) -> None:
    """Only what cannot be right is an error; an unknown quantisation leaves the shape to be checked."""
    shape = {**QWEN, **change}
    (tmp_path / "config.json").write_text(json.dumps(shape), encoding="utf-8")

    assert codes == list(found(tmp_path, "example/our-own", config="config.json", tensor=16))


def test_config_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The path is in the message."""
    findings = found(tmp_path, config="no/config.json", tensor=8, pipeline=2)

    assert ["PAR021"] == list(findings)
    assert "no/config.json: cannot be read" in findings["PAR021"].message


@pytest.mark.parametrize(
    "preset", sorted((share.folder("values") / "accelerators").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_accelerator_preset_is_known(preset: Path) -> None:
    """A label that a preset selects names an accelerator whose memory is in the facts."""
    from lockstep.memory.accelerators import find_accelerator

    selector = yaml.safe_load(preset.read_text(encoding="utf-8")).get("pod", {}).get("nodeSelector", {})

    assert all(find_accelerator(label) for label in selector.values())
