"""Proves that a config.json is read as Hugging Face writes it, and that a bad one is one sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lockstep.model.config import ConfigError, UnknownShape, load_config, read_config
from lockstep.model.shape import Attention, Dense, Experts, LatentAttention, LinearAttention, StateSpace, Vision

if TYPE_CHECKING:
    from pathlib import Path

LLAMA: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072,
}


def config(**keys: object) -> dict[str, object]:
    """Return a small config with some keys changed; None removes one."""
    return {key: value for key, value in {**LLAMA, **keys}.items() if value is not None}


def folder(path: Path, **files: object) -> Path:
    """Write JSON files into a folder, ``_`` in a name for ``.``."""
    for name, content in files.items():
        (path / f"{name.replace('__', '.')}.json").write_text(json.dumps(content), encoding="utf-8")
    return path


def test_head_width_follows_from_hidden_size() -> None:
    """Without head_dim a head is hidden size over heads wide."""
    mixer = read_config(config(), "c").layers[0].mixer

    assert mixer == Attention(32, 8, 128, 128)


def test_missing_kv_heads_mean_multi_head_attention() -> None:
    """Without num_key_value_heads every head has its own keys."""
    mixer = read_config(config(num_key_value_heads=None), "c").layers[0].mixer

    assert mixer == Attention(32, 32, 128, 128)


def test_nested_text_config_wins() -> None:
    """A multimodal config hides the language model one level down, and its tower is read."""
    outer = {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "hidden_size": 1,
        "text_config": config(architectures=None),
        "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16},
    }

    shape = read_config(outer, "c")

    assert shape.hidden == 4096
    assert shape.vision == Vision(16, 27, 1152, 4304)


@pytest.mark.parametrize(
    ("architecture", "key"),
    [
        ("Qwen3MoeForCausalLM", "num_experts"),
        ("DeepseekV3ForCausalLM", "n_routed_experts"),
        ("MixtralForCausalLM", "num_local_experts"),
    ],
)
def test_experts_are_found_under_each_spelling(architecture: str, key: str) -> None:
    """Families name the number of experts differently."""
    keys = {key: 64, "num_experts_per_tok": 4, "moe_intermediate_size": 512}

    experts = read_config(config(architectures=[architecture], **keys), "c").experts

    assert experts is not None
    assert experts.count == 64


def test_first_layers_can_be_dense() -> None:
    """DeepSeek's first layers have no experts, the shared expert stands beside the others."""
    keys = {"n_routed_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 512}
    layers = read_config(
        config(architectures=["DeepseekV3ForCausalLM"], first_k_dense_replace=3, n_shared_experts=2, **keys), "c"
    ).layers

    assert [Dense(14336)] * 3 == [layer.block for layer in layers[:3]]
    assert layers[3].block == Experts(64, 4, 512, shared_width=1024)


def test_latent_attention_is_known_by_its_rank() -> None:
    """kv_lora_rank makes it multi-head latent attention."""
    keys = {
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    }
    moe = {"n_routed_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 512}

    mixer = read_config(config(architectures=["DeepseekV3ForCausalLM"], **keys, **moe), "c").layers[0].mixer

    assert mixer == LatentAttention(32, 1536, 512, 128, 64, 128)


def test_windows_follow_layer_types() -> None:
    """Only sliding layers have the window."""
    kinds = ["sliding_attention", "full_attention"] * 16

    layers = read_config(config(layer_types=kinds, sliding_window=128), "c").layers

    assert [128, None] * 16 == [layer.mixer.window for layer in layers if isinstance(layer.mixer, Attention)]


def test_window_without_layer_types_is_unknown() -> None:
    """Families that mix windowed and full layers are not guessed to be all of one kind."""
    with pytest.raises(UnknownShape, match="which layers have a window"):
        read_config(config(architectures=["Gemma3ForCausalLM"], sliding_window=1024), "c")


@pytest.mark.parametrize(("architecture", "tied"), [("LlamaForCausalLM", False), ("GemmaForCausalLM", True)])
def test_embeddings_are_tied_as_the_family_has_it(architecture: str, tied: bool) -> None:
    """A config that is silent means what its family means."""
    assert tied is read_config(config(architectures=[architecture]), "c").tied


def test_hybrid_linear_attention_has_full_attention_at_intervals() -> None:
    """Every fourth layer of Qwen3.5 keeps a cache."""
    keys = {
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    }

    layers = read_config(config(architectures=["Qwen3_5ForConditionalGeneration"], **keys), "c").layers

    assert [LinearAttention, LinearAttention, LinearAttention, Attention] == [type(x.mixer) for x in layers[:4]]


def test_mamba_hybrid_follows_its_pattern() -> None:
    """Each letter of Nemotron's pattern is a layer of one kind."""
    keys = {
        "hybrid_override_pattern": "M*-E",
        "mamba_num_heads": 128,
        "mamba_head_dim": 64,
        "n_groups": 8,
        "ssm_state_size": 128,
        "conv_kernel": 4,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 512,
    }

    layers = read_config(config(architectures=["NemotronHForCausalLM"], **keys), "c").layers

    assert [StateSpace, Attention, None, None] == [type(x.mixer) if x.mixer else None for x in layers]
    assert [Dense, Experts] == [type(x.block) for x in layers[2:]]


def test_missing_key_is_no_fault_but_unknown() -> None:
    """The engine has a default for it that differs from family to family."""
    with pytest.raises(UnknownShape, match="num_attention_heads is missing, and Lockstep knows no default for it"):
        read_config(config(num_attention_heads=None), "c")


def test_unknown_architecture_is_said_to_be_unknown() -> None:
    """It is never read with the keys of another family."""
    with pytest.raises(UnknownShape, match="OurOwnForCausalLM is not one that Lockstep knows"):
        read_config(config(architectures=["OurOwnForCausalLM"]), "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architectures": None}, "architectures is missing"),
        ({"architectures": "Llama"}, "architectures is 'Llama'; a list of strings"),
        ({"num_attention_heads": 0}, "num_attention_heads is '0'"),
        ({"hidden_size": "4096"}, "hidden_size is '4096'; a whole number"),
        ({"hidden_size": True}, "hidden_size is 'True'"),
        ({"hidden_size": 4096.5}, "hidden_size is '4096.5'"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is '1000000000'"),
        ({"layer_types": ["full_attention"]}, "layer_types is '1 entries'; one for each of the 32 layers"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}}, "two whole numbers"),
    ],
    ids=str,
)
def test_bad_key_is_one_sentence(change: dict[str, object], message: str) -> None:
    """The key, what it is and what is needed stand in the message."""
    with pytest.raises(ConfigError, match=message.replace("(", "[(]")):
        read_config(config(**change), "c")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "holds a list; an object is needed"),
        (b"{", "is not JSON"),
        (b"\xff", "is not UTF-8 text"),
        (b"[" * 200_000, "is not JSON"),
        (b'{"vocab_size": ' + b"9" * 5000 + b"}", "is not JSON"),
    ],
    ids=["a list", "half", "latin", "deep", "digits"],
)
def test_bad_file_is_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    """Whatever is wrong with the file, there is no traceback."""
    file = tmp_path / "config.json"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=message):
        load_config(file)


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    """A path that leads nowhere says so."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "config.json")


def test_folder_stands_for_its_config(tmp_path: Path) -> None:
    """A folder with a config.json is as good as the file."""
    folder(tmp_path, config=config())

    assert len(load_config(tmp_path).layers) == 32


def test_quantisation_file_beside_the_config_is_read(tmp_path: Path) -> None:
    """ModelOpt checkpoints keep it in a file of its own."""
    folder(tmp_path, config=config(), hf_quant_config={"quantization": {"quant_algo": "FP8"}})

    quantization = load_config(tmp_path / "config.json").quantization

    assert quantization is not None
    assert quantization.method == "modelopt"


def test_safetensors_index_gives_the_size(tmp_path: Path) -> None:
    """The index that lies beside the config says how large the checkpoint is."""
    folder(tmp_path, config=config(), model__safetensors__index={"metadata": {"total_size": 12345}})

    assert load_config(tmp_path).checkpoint == 12345


def test_index_without_a_size_is_one_sentence(tmp_path: Path) -> None:
    """An index that cannot be used is not passed over in silence."""
    folder(tmp_path, config=config(), model__safetensors__index={"metadata": {}})

    with pytest.raises(ConfigError, match="total_size is missing"):
        load_config(tmp_path)
