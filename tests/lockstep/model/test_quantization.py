"""Proves that each quantisation recipe is read with its formats and exceptions."""

from __future__ import annotations

import pytest

from lockstep.model.keys import ConfigError, Keys
from lockstep.model.quantization import Format, Quantization, read_quantization
from lockstep.model.shape import Part

GROUP_4_BIT: dict[str, object] = {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}


def read(beside: dict[str, object] | None = None, **section: object) -> Quantization:
    """Read a quantization_config of a model of ten layers."""
    found = read_quantization(Keys("config.json", {"quantization_config": section, **(beside or {})}), 10)
    assert found is not None
    return found


def test_no_section_is_no_quantisation() -> None:
    """Most checkpoints have none."""
    assert read_quantization(Keys("config.json", {}), 10) is None


@pytest.mark.parametrize(
    ("section", "bytes_"),
    [
        ({"quant_method": "fp8"}, 1.0),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 1 + 4 / 128**2),
        ({"quant_method": "mxfp4"}, 0.5 + 1 / 32),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 0.5 + 2.5 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 1.0),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": GROUP_4_BIT}}, 0.5 + 2 / 32),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 0.5 + 1 / 16),
        ({"quant_algo": "FP8"}, 1.0),
    ],
    ids=str,
)
def test_bytes_of_a_parameter(section: dict[str, object], bytes_: float) -> None:
    """A parameter takes its bits and its share of the scales."""
    stored = read(**section).of(Part.MLP)

    assert stored is not None
    assert pytest.approx(bytes_) == stored.bytes


def test_exceptions_stay_unquantised() -> None:
    """Regular expressions, wildcards and plain names each except modules."""
    found = read(
        quant_method="compressed-tensors",
        config_groups={"group_0": GROUP_4_BIT},
        ignore=["lm_head", "re:.*self_attn.*", "model.layers.*.mlp.shared_experts*"],
    )

    assert found.of(Part.ATTENTION) is None
    assert found.of(Part.SHARED) is None
    assert found.of(Part.EXPERT) == Format("int4", 4, 16, group=32)


def test_router_and_embedding_are_never_quantised() -> None:
    """Engines leave them alone whatever the recipe says."""
    found = read(quant_method="fp8")

    assert [None, None, None] == [found.of(part) for part in (Part.ROUTER, Part.EMBEDDING, Part.HEAD)]


def test_layers_can_differ() -> None:
    """ModelOpt names the algorithm of each module; the middle of the model decides."""
    layers = {
        "model.layers.5.self_attn.q_proj": {"quant_algo": "FP8"},
        "model.layers.5.mlp.gate_proj": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
    }

    found = read(quant_method="modelopt", quant_algo="MIXED_PRECISION", quantized_layers=layers)

    assert {"attention": "fp8", "mlp": "nvfp4"} == {part: stored.name for part, stored in found.formats}


def test_expert_type_beside_the_section_counts() -> None:
    """DeepSeek-V4 stores its experts in four bits and says so outside the section."""
    found = read({"expert_dtype": "fp4"}, quant_method="fp8", weight_block_size=[128, 128])

    assert ["mxfp4", "fp8"] == [stored.name for part in (Part.EXPERT, Part.ATTENTION) if (stored := found.of(part))]


def test_cache_type_of_the_checkpoint_is_read() -> None:
    """A checkpoint can ask for an fp8 cache."""
    assert read(quant_method="modelopt", quant_algo="FP8", kv_cache_quant_algo="FP8").cache == "fp8"


TWO_FORMATS = {"group_0": GROUP_4_BIT, "group_1": {"weights": {"num_bits": 8, "type": "float"}}}


@pytest.mark.parametrize(
    ("section", "method"),
    [
        ({"quant_method": "magic"}, "magic"),
        ({}, "unnamed"),
        ({"quant_method": "compressed-tensors"}, "compressed-tensors without weights"),
        ({"quant_method": "compressed-tensors", "config_groups": TWO_FORMATS}, "compressed-tensors of several formats"),
        ({"quant_method": "modelopt", "quant_algo": "INT2"}, "modelopt INT2"),
    ],
    ids=str,
)
def test_unknown_recipe_is_unknown(section: dict[str, object], method: str) -> None:
    """What is not known is never taken for unquantised."""
    found = read(**section)

    assert (method, False) == (found.method, found.known)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"quant_method": "awq", "bits": 0}, "bits is '0'"),
        ({"quant_method": "fp8", "ignored_layers": ["re:("]}, "is no regular expression"),
    ],
    ids=str,
)
def test_unusable_recipe_is_one_sentence(section: dict[str, object], message: str) -> None:
    """What cannot be right is said."""
    with pytest.raises(ConfigError, match=message):
        read(**section)
