"""Read ``transcript.yaml`` and hold an engine to it, step by step."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from .nodes import Pair

FILE = Path(__file__).with_name("transcript.yaml")
PERIOD = 0.2


@dataclass(frozen=True)
class Row:
    """One scene: how it begins, and what is done and seen."""

    name: str
    steps: list[dict[str, Any]]
    env: dict[str, str] = field(default_factory=dict)
    nodes: int = 2


def scenes() -> list[Row]:
    """Return the scenes that start engines."""
    keys = ("name", "steps", "env", "nodes")
    found = yaml.safe_load(FILE.read_text())["scenes"]
    return [Row(**{key: row[key] for key in keys if key in row}) for row in found]


def refusals() -> list[dict[str, Any]]:
    """Return the command lines that end with a message."""
    return list(yaml.safe_load(FILE.read_text())["refusals"])


@dataclass(frozen=True)
class Seen:
    """One step as it went: what was asked, what was seen, after how many seconds."""

    step: str
    seen: str
    seconds: float


class Player:
    """Plays a row on a pair of nodes."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.record: list[Seen] = []

    def play(self, row: Row) -> None:
        """Do every step; an expectation that is not met fails the test with all that was seen before."""
        for step in row.steps:
            began = time.monotonic()
            seen = self._do(step)
            self.record.append(Seen(_short(step), seen, round(time.monotonic() - began, 1)))
            if "expect" in step:
                allowed = step["is"] if isinstance(step["is"], list) else [step["is"]]
                story = "\n".join(f"  {each.seconds:6.1f} s  {each.step}: {each.seen}" for each in self.record)

                assert seen in map(str, allowed), f"{self.pair.engine.name} differs from the transcript\n{story}"

    def _do(self, step: dict[str, Any]) -> str:
        pair = self.pair
        if "start" in step:
            pair.start(step["start"], step.get("flags", ()))
        elif "signal" in step:
            pair.send(step["node"], step["signal"], step.get("to", "first"))
        elif "stream" in step:
            pair.stream(step["stream"], step["tokens"])
        elif "log" in step:
            return self._until(lambda: "written" if step["log"] in pair.log(step["node"]) else "missing", ["written"])
        elif "pause" in step:
            time.sleep(step["pause"] * pair.engine.scale)
        else:
            return self._expect(step)
        return "done"

    def _expect(self, step: dict[str, Any]) -> str:
        kind, _, which = step["expect"].partition(" ")
        observe = {
            "health": self.pair.health,
            "completion": self.pair.completion,
            "running": self.pair.running,
            "node": lambda: self.pair.process(int(which)),
            "stream": lambda: self.pair.streams[which].seen(),
        }[kind]
        allowed = list(map(str, step["is"] if isinstance(step["is"], list) else [step["is"]]))
        if "for" in step:
            return self._throughout(observe, allowed, step["for"] * self.pair.engine.scale)
        return self._until(observe, allowed, step.get("within"))

    def _until(self, observe: Any, allowed: list[str], seconds: float | None = None) -> str:  # noqa: ANN401
        """Ask until the answer is allowed; without a bound of its own, as long as a start may take."""
        deadline = time.monotonic() + (self.pair.engine.start if seconds is None else seconds)
        while (seen := str(observe())) not in allowed and time.monotonic() < deadline:
            time.sleep(PERIOD)
        return seen

    def _throughout(self, observe: Any, allowed: list[str], seconds: float) -> str:  # noqa: ANN401
        """Ask for so long; return the first answer that is not allowed, else the last."""
        deadline = time.monotonic() + seconds
        while (seen := str(observe())) in allowed and time.monotonic() < deadline:
            time.sleep(PERIOD)
        return seen


def _short(step: dict[str, Any]) -> str:
    words = dict(step)
    words.pop("is", None)
    return " ".join(f"{key} {value}" for key, value in words.items())
