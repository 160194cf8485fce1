"""The rendered pods with the real scripts and real vLLM: it answers, survives kills of its engines, and drains."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .group import START, Kept, Rehearsal

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.rehearse.real_engine import RealEngine

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("alone")]

PROMPTS = ["badu", "kile morafa", "sapen tu garil vo", "fegar fegar", "Is this one model?"]
TOKENS = 64


@pytest.fixture(scope="module")
def whole(real_engine: RealEngine, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what the model says when it is not split."""
    with Kept(real_engine, tmp_path_factory.mktemp("single"), "single", "float32") as group:
        group.wait_until_served()
        return [group.answer(prompt, TOKENS) for prompt in PROMPTS]


@pytest.mark.parametrize("layout", ["pp2", "tp2"])
def test_split_model_answers_as_the_whole_one(
    layout: str, real_engine: RealEngine, whole: list[str], tmp_path: Path
) -> None:
    """In float32, two processes that hold half a model each say what one says that holds it all."""
    with Kept(real_engine, tmp_path, layout, "float32") as group:
        group.wait_until_served()
        answers = [group.answer(prompt, TOKENS) for prompt in PROMPTS]

    assert whole == answers
    assert len(PROMPTS) == len(set(answers))


@pytest.mark.parametrize("role", ["worker", "leader"])
def test_killed_engine_comes_back_in_place(role: str, real_engine: RealEngine, tmp_path: Path) -> None:
    """After kill -9 of one rank's engine a completion works again, and no container was restarted for it."""
    with Rehearsal(real_engine, tmp_path, "pp2", options=["--kill", f"{role}@2"]) as group:
        report = group.report(2 * START)

    started = [event.text for event in report.events if event.kind == "started"]

    assert "" == report.error
    assert report.recovered_seconds is not None
    assert ["container started (restarts: 0)"] * 2 == started


def test_stream_survives_a_drain(real_engine: RealEngine, tmp_path: Path) -> None:
    """A stream that is running when the pods are deleted ends with its last token, not before."""
    with Kept(real_engine, tmp_path, "pp2") as group:
        group.wait_until_served()
        lines = group.stream(100)
        first = next(lines)
        group.stop()
        rest = list(lines)

    pieces = [json.loads(line) for line in [first, *rest[:-1]]]
    finish = [piece["choices"][0]["finish_reason"] for piece in pieces if piece["choices"]]

    assert "[DONE]" == rest[-1]
    assert "length" == finish[-1]
