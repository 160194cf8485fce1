"""The rendered pods with the real scripts and real vLLM: it answers, survives kills of its engines, and drains.

A start takes a minute or more, so that one group goes through all tests, in the order in which they stand here, and
each kill is one more. Every layout and every stack loses a rank; both ranks are lost where stack and layout are the
usual ones, for the supervisor is the same everywhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from .group import Kept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.rehearse.real_engine import RealEngine

pytestmark = pytest.mark.engine

PROMPTS = ["badu", "kile morafa", "sapen tu garil vo", "fegar fegar", "Is this one model?"]
TOKENS = 64


class Life(NamedTuple):
    """A group, and the ranks whose engines are killed in it, one after the other."""

    layout: str
    stack: str
    kills: tuple[int, ...]


LIVES = {
    "pp2": Life("pp2", "lws", (1, 0)),
    "tp2": Life("tp2", "lws", (1,)),
    "pp2 on kueue": Life("pp2", "kueue", (1,)),
    "pp2 on grove": Life("pp2", "grove", (0,)),
}


@pytest.fixture(scope="module")
def whole(alone: None, real_engine: RealEngine, tmp_path_factory: pytest.TempPathFactory) -> list[str]:  # noqa: ARG001
    """Return what the model says when it is not split."""
    with Kept(real_engine, tmp_path_factory.mktemp("single"), "single") as group:
        group.wait_until_served()
        return [group.answer(prompt, TOKENS) for prompt in PROMPTS]


@pytest.fixture(scope="module", params=LIVES.values(), ids=LIVES)
def life(request: pytest.FixtureRequest) -> Life:
    """Return what a group is, and what happens to it."""
    found: Life = request.param
    return found


@pytest.fixture(scope="module")
def group(
    life: Life,
    whole: list[str],  # noqa: ARG001 - first, for there is room for one engine group
    real_engine: RealEngine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kept]:
    """Return a group of two pods that hold half of the model each."""
    with Kept(real_engine, tmp_path_factory.mktemp(life.layout), life.layout, life.stack) as found:
        found.wait_until_served()
        yield found


def test_split_model_answers_as_the_whole_one(group: Kept, whole: list[str]) -> None:
    """Two processes that hold half a model each say what one says that holds it all."""
    answers = [group.answer(prompt, TOKENS) for prompt in PROMPTS]

    assert whole == answers
    assert len(PROMPTS) == len(set(answers))


def test_killed_engines_come_back(life: Life, group: Kept, whole: list[str]) -> None:
    """After kill -9 of one rank's engine the pods leave the Service, and then answer as before."""
    for rank in life.kills:
        group.kill_engine(rank)
        group.wait_until_refused()
        group.wait_until_served()

        assert (rank, whole[0]) == (rank, group.answer(PROMPTS[0], TOKENS))


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
