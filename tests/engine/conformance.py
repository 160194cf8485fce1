"""Writes docs/conformance.md, what both engines answered to each step: ``python -m tests.engine.conformance FOLDER``.

FOLDER is that of LOCKSTEP_TRANSCRIPT, after test_transcript.py has run with it for the stand-in and for the real
engine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .transcript import Seen, refusals, scenes

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# The stand-in against real vLLM

Every step of `tests/engine/transcript.yaml` with two nodes that hold half of the model's layers each, bare `vllm serve`
and no supervisor: what vLLM 0.32.0 on CPU answered, and what the stand-in did. `python -m tests.engine.conformance`
made this page from one run of each. The seconds are those until the answer was seen, on two cores; the stand-in's own
times are a tenth of the engine's (`STANDIN_SCALE`).
"""
COLUMNS = ("| step | vLLM 0.32.0 | stand-in |", "| --- | --- | --- |")


def table(folder: Path, name: str) -> Iterator[str]:
    """Yield the rows of one scene or refusal."""
    real, standin = (
        [Seen(**each) for each in json.loads((folder / f"{name}-{engine}.json").read_text())]
        for engine in ("real", "standin")
    )
    for one, other in zip(real, standin, strict=True):
        if one.step != other.step:
            raise SystemExit(f"{name}: {one.step!r} and {other.step!r} are not of the same transcript")
        yield f"| {one.step} | {_answer(one)} | {_answer(other)} |"


def _answer(seen: Seen) -> str:
    return f"{seen.seen}, {seen.seconds:g} s"


def document(folder: Path) -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD
    for scene in scenes():
        yield f"## {scene.name}\n\n{scene.why}\n"
        yield from (*COLUMNS, *table(folder, scene.name), "")
    yield "## Refusals\n\nA wrong command line ends by itself, with the same message and exit code.\n"
    yield from COLUMNS
    for case in refusals():
        yield from table(folder, case.name)


if __name__ == "__main__":
    print("\n".join(document(Path(sys.argv[1]))))  # noqa: T201
