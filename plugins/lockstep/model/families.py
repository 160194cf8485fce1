"""Which layers a model of each known architecture has, from the keys of its language config.

A family is a function from keys to layers. An architecture that no family lists is unknown, and is said
to be so: its keys may mean something else.
"""

from __future__ import annotations

from collections.abc import Callable

from lockstep.model.keys import Keys, UnknownShape
from lockstep.model.shape import (
    Attention,
    CompressedAttention,
    Dense,
    Experts,
    Indexer,
    LatentAttention,
    Layer,
    LinearAttention,
    Mixer,
    StateSpace,
)

__all__ = ["FAMILIES", "TIED", "Family"]

Family = Callable[[Keys], tuple[Layer, ...]]

# The deepest models have some 130; a slip of the keyboard must not keep the arithmetic busy for minutes.
MOST_LAYERS = 1000


def layer_count(keys: Keys) -> int:
    """Return the number of decoder layers, refusing what no model has."""
    count = keys.positive("num_hidden_layers")
    if count > MOST_LAYERS:
        raise keys.fail("num_hidden_layers", count, f"a whole number of at most {MOST_LAYERS}")
    return count


def windows(keys: Keys, count: int) -> list[int | None]:
    """Return the window of each layer; None where it sees everything.

    ``layer_types`` decides when present; else ``sliding_window`` holds for all layers unless
    ``use_sliding_window`` is false or absent beside it in a Qwen config (transformers, each family's config).
    """
    window = keys.integer("sliding_window", default=0) or None
    kinds = keys.texts("layer_types")
    if kinds:
        if len(kinds) != count:
            raise keys.fail("layer_types", f"{len(kinds)} entries", f"one for each of the {count} layers")
        return [window if kind == "sliding_attention" else None for kind in kinds]
    return [window if keys.flag("use_sliding_window", default=True) else None] * count


def grouped(keys: Keys, window: int | None = None, gated: bool = False) -> Attention:
    """Return the attention that most families share."""
    heads = keys.positive("num_attention_heads")
    size = keys.integer("head_dim", "attention_head_dim", default=0) or keys.positive("hidden_size") // heads
    kv_heads = keys.positive("num_key_value_heads", default=heads)
    return Attention(heads, kv_heads, size, size, window, gated)


def latent(keys: Keys) -> LatentAttention:
    """Return multi-head latent attention (DeepSeek-V2 and its kin), sparse when the config has an index."""
    index = keys.integer("index_n_heads", default=0)
    return LatentAttention(
        heads=keys.positive("num_attention_heads"),
        query_rank=keys.integer("q_lora_rank", default=0),
        kv_rank=keys.positive("kv_lora_rank"),
        nope_dim=keys.positive("qk_nope_head_dim"),
        rope_dim=keys.positive("qk_rope_head_dim"),
        value_dim=keys.positive("v_head_dim"),
        indexer=Indexer(index, keys.positive("index_head_dim")) if index else None,
    )


def experts(keys: Keys, width: int, shared: int) -> Experts:
    """Return the expert block with one expert of ``width`` and a shared one of ``shared``."""
    count = keys.positive("num_experts", "n_routed_experts", "num_local_experts")
    active = keys.positive("num_experts_per_tok", "experts_per_token", "num_experts_per_token")
    if active > count:
        raise keys.fail("num_experts_per_tok", active, f"at most the {count} experts")
    return Experts(count, active, width, shared)


def dense(keys: Keys) -> tuple[Layer, ...]:
    """Llama and those built like it."""
    count = layer_count(keys)
    block = Dense(keys.positive("intermediate_size"))
    return tuple(Layer(grouped(keys, window), block) for window in windows(keys, count))


def mixed_windows(keys: Keys) -> tuple[Layer, ...]:
    """Gemma 2 and 3, Cohere 2, OLMo 3, EXAONE 4: as Llama, and only ``layer_types`` says which layers have a window."""
    if keys.integer("sliding_window", default=0) and not keys.texts("layer_types"):
        raise UnknownShape(keys.where, "layer_types is missing, and Lockstep does not know which layers have a window")
    return dense(keys)


def all_experts(keys: Keys) -> tuple[Layer, ...]:
    """Mixtral, MiniMax-M2, OLMoE and gpt-oss: every layer has experts as wide as ``intermediate_size``."""
    count = layer_count(keys)
    block = experts(keys, keys.positive("intermediate_size"), keys.integer("shared_intermediate_size", default=0))
    return tuple(Layer(grouped(keys, window), block) for window in windows(keys, count))


def qwen_experts(keys: Keys) -> tuple[Layer, ...]:
    """Qwen2-MoE, Qwen3-MoE, Qwen3-VL-MoE: experts at every ``decoder_sparse_step``-th layer."""
    count = layer_count(keys)
    return tuple(Layer(grouped(keys, w), qwen_block(keys, i)) for i, w in enumerate(windows(keys, count)))


def qwen_block(keys: Keys, index: int) -> Dense | Experts:
    """Return the block of layer ``index`` (transformers ``modeling_qwen3_moe.py``, Qwen3MoeDecoderLayer)."""
    step = keys.positive("decoder_sparse_step", default=1)
    if index in keys.integers("mlp_only_layers") or (index + 1) % step:
        return Dense(keys.positive("intermediate_size"))
    shared = keys.integer("shared_expert_intermediate_size", default=0)
    return experts(keys, keys.positive("moe_intermediate_size"), shared)


def qwen_hybrid(keys: Keys) -> tuple[Layer, ...]:
    """Qwen3-Next and Qwen3.5: three layers of gated delta rule, then one of full attention."""
    count = layer_count(keys)
    kinds = keys.texts("layer_types")
    every = keys.positive("full_attention_interval", default=4)
    full = [k == "full_attention" for k in kinds] if kinds else [(i + 1) % every == 0 for i in range(count)]
    if len(full) != count:
        raise keys.fail("layer_types", f"{len(full)} entries", f"one for each of the {count} layers")
    linear = LinearAttention(
        key_heads=keys.positive("linear_num_key_heads"),
        value_heads=keys.positive("linear_num_value_heads"),
        key_dim=keys.positive("linear_key_head_dim"),
        value_dim=keys.positive("linear_value_head_dim"),
        convolution=keys.positive("linear_conv_kernel_dim"),
        state_bytes=4 if keys.text("mamba_ssm_dtype", default="float32") == "float32" else 2,
    )
    sparse = keys.integer("num_experts", default=0)
    blocks = [qwen_block(keys, i) if sparse else Dense(keys.positive("intermediate_size")) for i in range(count)]
    attention = grouped(keys, gated=True)
    return tuple(Layer(attention if f else linear, block) for f, block in zip(full, blocks, strict=True))


def deepseek(keys: Keys) -> tuple[Layer, ...]:
    """DeepSeek-V2, V3 and V3.2, Kimi-K2, GLM-4.5 and GLM-5: dense layers first, then experts with a shared one.

    Grouped-query attention where the config has no ``kv_lora_rank`` (GLM-4.5).
    """
    count = layer_count(keys)
    mixer: Mixer = latent(keys) if keys.integer("kv_lora_rank", default=0) else grouped(keys)
    width = keys.positive("moe_intermediate_size")
    block = experts(keys, width, keys.integer("n_shared_experts", default=0) * width)
    first = keys.integer("first_k_dense_replace", default=0)
    every = keys.positive("moe_layer_freq", default=1)
    return tuple(
        Layer(mixer, block if i >= first and i % every == 0 else Dense(keys.positive("intermediate_size")))
        for i in range(count)
    )


def deepseek_v4(keys: Keys) -> tuple[Layer, ...]:
    """DeepSeek-V4: windowed layers that also read a compressed past, 4 or 128 tokens to an entry."""
    count = layer_count(keys)
    ratios = keys.integers("compress_ratios")
    if len(ratios) < count:
        raise keys.fail("compress_ratios", f"{len(ratios)} entries", f"one for each of the {count} layers")
    width = keys.positive("moe_intermediate_size")
    block = experts(keys, width, keys.integer("n_shared_experts", default=0) * width)
    index = Indexer(keys.positive("index_n_heads"), keys.positive("index_head_dim"))

    def mixer(ratio: int) -> CompressedAttention:
        return CompressedAttention(
            heads=keys.positive("num_attention_heads"),
            head_dim=keys.positive("head_dim"),
            query_rank=keys.positive("q_lora_rank"),
            output_rank=keys.positive("o_lora_rank"),
            output_groups=keys.positive("o_groups"),
            window=keys.positive("sliding_window"),
            ratio=ratio,
            indexer=index if ratio == 4 else None,
        )

    return tuple(Layer(mixer(ratio), block) for ratio in ratios[:count])


def llama4(keys: Keys) -> tuple[Layer, ...]:
    """Llama 4: experts at every ``interleave_moe_layer_step``-th layer, each with a shared one as wide.

    Chunked attention is counted as full: vLLM keeps the whole sequence unless its hybrid cache manager is
    asked for (``VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE``).
    """
    step = keys.positive("interleave_moe_layer_step", default=1)
    width = keys.positive("intermediate_size")
    block, plain = experts(keys, width, width), Dense(keys.positive("intermediate_size_mlp", default=width))
    attention = grouped(keys)
    return tuple(Layer(attention, plain if (i + 1) % step else block) for i in range(layer_count(keys)))


def nemotron_hybrid(keys: Keys) -> tuple[Layer, ...]:
    """Nemotron-H and Nemotron 3: each layer is one of Mamba-2, attention, dense block or experts."""
    pattern = keys.text("hybrid_override_pattern", default="")
    kinds = keys.texts("layers_block_type") or tuple(NEMOTRON_KINDS.get(sign, sign) for sign in pattern)
    if not kinds:
        raise keys.fail("hybrid_override_pattern", None, "it or layers_block_type")
    if len(kinds) > MOST_LAYERS:
        raise keys.fail("hybrid_override_pattern", f"{len(kinds)} entries", f"at most {MOST_LAYERS} of them")
    return tuple(nemotron_layer(keys, kind) for kind in kinds)


NEMOTRON_KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_layer(keys: Keys, kind: str) -> Layer:
    """Return a layer of one kind (transformers ``configuration_nemotron_h.py``)."""
    if kind == "attention":
        return Layer(grouped(keys), None)
    if kind == "mlp":
        return Layer(None, Dense(keys.positive("intermediate_size"), gated=False))
    if kind == "mamba":
        mamba = StateSpace(
            heads=keys.positive("mamba_num_heads"),
            head_dim=keys.positive("mamba_head_dim"),
            groups=keys.positive("n_groups"),
            state=keys.positive("ssm_state_size"),
            convolution=keys.positive("conv_kernel"),
            state_bytes=4 if keys.text("mamba_ssm_cache_dtype", default="float32") == "float32" else 2,
        )
        return Layer(mamba, None)
    if kind == "moe":
        shared = keys.integer("n_shared_experts", default=0) * keys.integer(
            "moe_shared_expert_intermediate_size", default=0
        )
        block = experts(keys, keys.positive("moe_intermediate_size"), shared)
        latent_size = keys.integer("moe_latent_size", default=0) or None
        return Layer(None, Experts(block.count, block.active, block.width, shared, gated=False, latent=latent_size))
    raise UnknownShape(keys.where, f"layer kind {kind!r} is not known to Lockstep")


def mimo(keys: Keys) -> tuple[Layer, ...]:
    """MiMo-V2: windowed layers have their own head counts, and values are narrower than keys."""
    count = layer_count(keys)
    swa, sparse = keys.integers("hybrid_layer_pattern"), keys.integers("moe_layer_freq")
    if len(swa) != count or len(sparse) != count:
        raise keys.fail("hybrid_layer_pattern", f"{len(swa)} entries", f"one for each of the {count} layers")

    def mixer(prefix: str, window: int | None) -> Attention:
        wide, kv = keys.positive(f"{prefix}num_attention_heads"), keys.positive(f"{prefix}num_key_value_heads")
        return Attention(wide, kv, keys.positive(f"{prefix}head_dim"), keys.positive(f"{prefix}v_head_dim"), window)

    near, far = mixer("swa_", keys.positive("sliding_window")), mixer("", None)
    block, plain = experts(keys, keys.positive("moe_intermediate_size"), 0), Dense(keys.positive("intermediate_size"))
    return tuple(Layer(near if s else far, block if e else plain) for s, e in zip(swa, sparse, strict=True))


FAMILIES: dict[str, Family] = {
    "Cohere2ForCausalLM": mixed_windows,
    "CohereForCausalLM": dense,
    "DeepseekV2ForCausalLM": deepseek,
    "DeepseekV32ForCausalLM": deepseek,
    "DeepseekV3ForCausalLM": deepseek,
    "DeepseekV4ForCausalLM": deepseek_v4,
    "Ernie4_5ForCausalLM": dense,
    "Exaone4ForCausalLM": mixed_windows,
    "FlexOlmoForCausalLM": all_experts,
    "Gemma2ForCausalLM": mixed_windows,
    "Gemma3ForCausalLM": mixed_windows,
    "Gemma3ForConditionalGeneration": mixed_windows,
    "GemmaForCausalLM": dense,
    "Glm4ForCausalLM": dense,
    "Glm4MoeForCausalLM": deepseek,
    "GlmForCausalLM": dense,
    "GlmMoeDsaForCausalLM": deepseek,
    "GptOssForCausalLM": all_experts,
    "GraniteForCausalLM": dense,
    "KimiK25ForConditionalGeneration": deepseek,
    "Llama4ForConditionalGeneration": llama4,
    "LlamaForCausalLM": dense,
    "MiMoV2FlashForCausalLM": mimo,
    "MiniMaxM2ForCausalLM": all_experts,
    "Mistral3ForConditionalGeneration": dense,
    "MistralForCausalLM": dense,
    "MixtralForCausalLM": all_experts,
    "NemotronHForCausalLM": nemotron_hybrid,
    "Olmo2ForCausalLM": dense,
    "Olmo3ForCausalLM": mixed_windows,
    "OlmoeForCausalLM": all_experts,
    "Phi3ForCausalLM": dense,
    "Qwen2ForCausalLM": dense,
    "Qwen2MoeForCausalLM": qwen_experts,
    "Qwen2_5_VLForConditionalGeneration": dense,
    "Qwen3ForCausalLM": dense,
    "Qwen3MoeForCausalLM": qwen_experts,
    "Qwen3NextForCausalLM": qwen_hybrid,
    "Qwen3VLForConditionalGeneration": dense,
    "Qwen3VLMoeForConditionalGeneration": qwen_experts,
    "Qwen3_5ForConditionalGeneration": qwen_hybrid,
    "Qwen3_5MoeForConditionalGeneration": qwen_hybrid,
    "SeedOssForCausalLM": dense,
    "SmolLM3ForCausalLM": mixed_windows,
}

# Whose input and output embeddings are one matrix unless the config says otherwise.
TIED = {
    "Cohere2ForCausalLM",
    "CohereForCausalLM",
    "Ernie4_5ForCausalLM",
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "GemmaForCausalLM",
    "SmolLM3ForCausalLM",
}
