"""Proves what one GPU holds of a model whose every byte can be counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep.memory.layout import Layout
from lockstep.memory.weights import checkpoint_bytes, outer_bytes, stage_bytes
from lockstep.model.quantization import Format
from tests.lockstep.memory.shapes import EXPERTS, HIDDEN, LATENT, tiny

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape

NORMS = 2 * HIDDEN
QO = 2 * 64 * HIDDEN  # queries and output: 8 heads of 8
KV = 2 * 16 * HIDDEN  # keys and values: 2 heads of 8
MLP = 3 * 256 * HIDDEN
EXPERT = 3 * 128 * HIDDEN
ROUTER = 8 * HIDDEN


def parameters(model: ModelShape, layout: Layout) -> float:
    """Return the parameters of one layer on one GPU (all are stored in two bytes)."""
    return stage_bytes(model, model.layers[:1], layout) / 2


def test_everything_is_there_once_on_one_gpu() -> None:
    """A layer on one GPU is the sum of its matrices."""
    assert QO + KV + MLP + NORMS == parameters(tiny(), Layout("vllm", 1))


def test_tensor_parallel_cuts_all_but_norms() -> None:
    """Two ranks hold half each."""
    assert (QO + KV + MLP) / 2 + NORMS == parameters(tiny(), Layout("vllm", 2))


def test_kv_heads_are_copied_beyond_one_a_rank() -> None:
    """Two KV heads on eight ranks: each rank holds a whole one."""
    assert (QO + MLP) / 8 + KV / 2 + NORMS == parameters(tiny(), Layout("vllm", 8))


def test_latent_projections_are_whole_on_every_rank() -> None:
    """What compresses queries and keys is not cut."""
    whole = 16 * HIDDEN + 36 * HIDDEN
    cut = 8 * 12 * 16 + 8 * 16 * 32 + HIDDEN * 64

    assert whole + (cut + MLP) / 4 + NORMS == parameters(tiny(mixer=LATENT), Layout("vllm", 4))


@pytest.mark.parametrize("dealt", [False, True], ids=["cut", "dealt"])
def test_experts_are_spread_over_tensor_and_data_ranks(dealt: bool) -> None:
    """Eight experts on four ranks weigh the same cut or dealt; attention is there once for each data rank."""
    layout = Layout("vllm", 2, data=2, expert_parallel=dealt)

    assert (QO + KV + EXPERT) / 2 + 8 * EXPERT / 4 + ROUTER + NORMS == parameters(tiny(block=EXPERTS), layout)


def test_odd_experts_are_rounded_up() -> None:
    """Eight experts dealt to three ranks: the fullest has three."""
    model = tiny(block=EXPERTS)
    layout = Layout("vllm", 1, data=3, expert_parallel=True)

    assert QO + KV + EXPERT + 3 * EXPERT + ROUTER + NORMS == parameters(model, layout)


def test_copies_of_experts_weigh() -> None:
    """Eight experts and two copies on two ranks: five each."""
    layout = Layout("vllm", 1, data=2, expert_parallel=True, redundant=2)

    assert QO + KV + EXPERT + 5 * EXPERT + ROUTER + NORMS == parameters(tiny(block=EXPERTS), layout)


def test_mxfp4_experts_are_padded() -> None:
    """The kernels pad the inner width to 128 and the hidden size to 256."""
    model = tiny(block=EXPERTS, formats=(("expert", Format("mxfp4", 4)),))
    plain = tiny(block=EXPERTS, formats=(("expert", Format("int4", 4)),))
    layout = Layout("vllm", 1)

    assert 8 * 3 * (256 - 64) * 128 / 2 == stage_bytes(model, model.layers[:1], layout) - stage_bytes(
        plain, plain.layers[:1], layout
    )


@pytest.mark.parametrize(
    ("tied", "first", "last", "matrices"),
    [
        (False, True, True, 2),
        (False, True, False, 1),
        (False, False, True, 1),
        (False, False, False, 0),
        (True, True, True, 1),
    ],
)
def test_embedding_is_first_and_head_is_last(tied: bool, first: bool, last: bool, matrices: int) -> None:
    """A middle stage holds neither; a tied model on one stage holds one matrix."""
    found = outer_bytes(tiny(tied=tied), Layout("vllm", 2), first=first, last=last)

    assert matrices * 640 * HIDDEN * 2 / 2 == found


def test_tied_head_is_there_again_on_the_last_stage() -> None:
    """The last of several stages needs the embedding for its output."""
    assert 640 * HIDDEN * 2 == outer_bytes(tiny(tied=True), Layout("vllm", 1, 2), first=False, last=True)


def test_quantised_parts_take_fewer_bytes() -> None:
    """Only the parts that the recipe names shrink."""
    model = tiny(formats=(("mlp", Format("fp8", 8)),))

    assert (QO + KV + NORMS) * 2 + MLP == stage_bytes(model, model.layers[:1], Layout("vllm", 1))


def test_checkpoint_is_everything() -> None:
    """All layers, embedding, head and last norm."""
    assert (4 * (QO + KV + MLP + NORMS) + 2 * 640 * HIDDEN + HIDDEN) * 2 == checkpoint_bytes(tiny())
