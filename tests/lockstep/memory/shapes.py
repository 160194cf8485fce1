"""Small models whose every byte can be counted by hand."""

from __future__ import annotations

from lockstep.model.quantization import Format, Quantization
from lockstep.model.shape import Attention, Dense, Experts, LatentAttention, Layer, Mixer, ModelShape

HIDDEN = 64
GROUPED = Attention(heads=8, kv_heads=2, head_dim=8, value_dim=8)
LATENT = LatentAttention(heads=8, query_rank=16, kv_rank=32, nope_dim=8, rope_dim=4, value_dim=8)
DENSE = Dense(256)
EXPERTS = Experts(count=8, active=2, width=128, shared_width=128)


def tiny(
    layers: int = 4,
    mixer: Mixer = GROUPED,
    block: Dense | Experts = DENSE,
    *,
    tied: bool = False,
    formats: tuple[tuple[str, Format], ...] = (),
    checkpoint: int | None = None,
) -> ModelShape:
    """Return a model of equal layers, hidden size 64 and 640 words."""
    return ModelShape(
        name="tiny",
        architecture="LlamaForCausalLM",
        hidden=HIDDEN,
        vocab=640,
        layers=(Layer(mixer, block),) * layers,
        tied=tied,
        dtype_bytes=2.0,
        quantization=Quantization("fp8", formats) if formats else None,
        context=4096,
        checkpoint=checkpoint,
    )
