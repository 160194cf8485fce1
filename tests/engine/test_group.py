"""The rendered pods with the real scripts and real vLLM: it answers, survives kills of its engines, and drains.

A start takes a minute or more, so that one group goes through all tests, in the order in which they stand here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .group import Kept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.rehearse.real_engine import RealEngine

pytestmark = pytest.mark.engine

PROMPTS = ["badu", "kile morafa", "sapen tu garil vo", "fegar fegar", "Is this one model?"]
TOKENS = 64


@pytest.fixture(scope="module")
def whole(alone: None, real_engine: RealEngine, tmp_path_factory: pytest.TempPathFactory) -> list[str]:  # noqa: ARG001
    """Return what the model says when it is not split."""
    with Kept(real_engine, tmp_path_factory.mktemp("single"), "single") as group:
        group.wait_until_served()
        return [group.answer(prompt, TOKENS) for prompt in PROMPTS]


@pytest.fixture(
    scope="module",
    params=[("pp2", None), ("tp2", None), ("pp2", "kueue"), ("pp2", "grove")],
    ids=["pp2", "tp2", "pp2 on kueue", "pp2 on grove"],
)
def group(
    request: pytest.FixtureRequest,
    whole: list[str],  # noqa: ARG001 - first, for there is room for one engine group
    real_engine: RealEngine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kept]:
    """Return a group of two pods that hold half of the model each."""
    layout, stack = request.param
    with Kept(real_engine, tmp_path_factory.mktemp(layout), layout, stack) as found:
        found.wait_until_served()
        yield found


def test_split_model_answers_as_the_whole_one(group: Kept, whole: list[str]) -> None:
    """Two processes that hold half a model each say what one says that holds it all."""
    answers = [group.answer(prompt, TOKENS) for prompt in PROMPTS]

    assert whole == answers
    assert len(PROMPTS) == len(set(answers))


@pytest.mark.parametrize("rank", [pytest.param(1, id="worker"), pytest.param(0, id="leader")])
def test_killed_engine_comes_back(rank: int, group: Kept, whole: list[str]) -> None:
    """After kill -9 of one rank's engine the pods leave the Service, and then answer as before."""
    group.kill_engine(rank)
    group.wait_until_refused()
    group.wait_until_served()

    assert whole[0] == group.answer(PROMPTS[0], TOKENS)


def test_stream_survives_a_drain_and_no_container_was_restarted(group: Kept) -> None:
    """A stream that runs when the pods are deleted ends with its last token; all lives were lived in two containers."""
    lines = group.stream(100)
    first = next(lines)
    group.stop()
    rest = list(lines)
    report = group.report(200)

    pieces = [json.loads(line) for line in [first, *rest[:-1]]]
    finish = [piece["choices"][0]["finish_reason"] for piece in pieces if piece["choices"]]
    started = [event.text for event in report.events if event.kind == "started"]

    assert "[DONE]" == rest[-1]
    assert "length" == finish[-1]
    assert ["container started (restarts: 0)"] * 2 == started
