"""Proves that a shape has as many parameters as the model that transformers builds of the same config."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from lockstep.model.config import read_config
from lockstep.model.facts import configs

if TYPE_CHECKING:
    from lockstep.rehearse.real_engine import RealEngine

pytestmark = pytest.mark.engine

Config = dict[str, object]
# The type that transformers knows each architecture of the facts by, and that of its language model.
TYPES = {
    "DeepseekV32ForCausalLM": "deepseek_v32",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "DeepseekV4ForCausalLM": "deepseek_v4",
    "Glm4MoeForCausalLM": "glm4_moe",
    "GlmMoeDsaForCausalLM": "glm_moe_dsa",
    "GptOssForCausalLM": "gpt_oss",
    "KimiK25ForConditionalGeneration": "kimi_k25",
    "Llama4ForConditionalGeneration": "llama4",
    "LlamaForCausalLM": "llama",
    "MiniMaxM2ForCausalLM": "minimax_m2",
    "MixtralForCausalLM": "mixtral",
    "NemotronHForCausalLM": "nemotron_h",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe",
}
INNER = {"kimi_k25": "deepseek_v3", "llama4": "llama4_text", "qwen3_5_moe": "qwen3_5_moe_text"}
# Families that the facts have no model of, built small: what transformers leaves out has its own defaults.
SMALL = [
    "cohere",
    "cohere2",
    "ernie4_5",
    "exaone4",
    "flex_olmo",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "glm4",
    "granite",
    "mistral",
    "olmo2",
    "olmo3",
    "olmoe",
    "phi3",
    "qwen2",
    "qwen2_moe",
    "qwen3_next",
    "seed_oss",
    "smollm3",
]
# Norms and biases are not in the shape.
CLOSE = 5e-4


def counted(engine: RealEngine, asked: list[Config]) -> list[tuple[int, Config]]:
    """Return what transformers says of each config."""
    done = subprocess.run(
        [str(engine.bin / "python"), str(Path(__file__).with_name("count_parameters.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [(answer["parameters"], answer["config"]) for answer in json.loads(done.stdout.splitlines()[-1])]


def asked_of(config: Config) -> Config:
    """Return a config of the facts as transformers wants it: with types, without what has no parameters."""
    kind = TYPES[cast("list[str]", config["architectures"])[0]]
    dropped = ("architectures", "quantization_config", "quantization", "vision_config")
    asked: Config = {**{key: value for key, value in config.items() if key not in dropped}, "model_type": kind}
    if "text_config" in asked:
        asked["text_config"] = {**cast("Config", asked["text_config"]), "model_type": INNER[kind]}
    return asked


def test_models_of_the_facts(real_engine: RealEngine) -> None:
    """Every model that Lockstep knows by id."""
    known = configs()
    differing = {
        name: (number, read_config(config, name).parameters)
        for (name, config), (number, _) in zip(
            known.items(), counted(real_engine, [asked_of(config) for config in known.values()]), strict=True
        )
        if read_config(config, name).parameters != pytest.approx(number, rel=CLOSE)
    }

    assert {} == differing


def test_other_families(real_engine: RealEngine) -> None:
    """A config as transformers writes it, for every other family."""
    sizes: Config = {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "moe_intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "vocab_size": 8192,
        **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0),
    }
    found = counted(real_engine, [{**sizes, "model_type": kind} for kind in SMALL])
    differing = {
        kind: (number, read_config(config, kind).parameters)
        for kind, (number, config) in zip(SMALL, found, strict=True)
        if read_config(config, kind).parameters != pytest.approx(number, rel=CLOSE)
    }

    assert {} == differing
