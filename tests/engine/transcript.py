"""Read ``transcript.yaml`` and hold an engine to it, step by step."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .nodes import Pair

RECORD = "LOCKSTEP_TRANSCRIPT"  # a folder: what was seen is written there, a file for each row and engine
FILE = Path(__file__).with_name("transcript.yaml")
PERIOD = 0.2
VERBS = ("start", "signal", "stream", "log", "pause", "expect")


@dataclass(frozen=True)
class Step:
    """One line of a scene; transcript.yaml says what each key means."""

    verb: str
    what: str
    node: int = 0
    to: str = "first"
    flags: tuple[str, ...] = ()
    tokens: int = 0
    allowed: tuple[str, ...] = ()
    within: float | None = None
    lasting: float | None = None

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Step:
        """Read one mapping of the file."""
        rest = dict(given)
        verb = next(iter(rest))
        if verb not in VERBS:
            raise ValueError(f"{given}: a step begins with one of {', '.join(VERBS)}")
        what = str(rest.pop(verb))
        allowed = rest.pop("is", "written")
        rest["allowed"] = tuple(map(str, allowed if isinstance(allowed, list) else [allowed]))
        rest["flags"] = tuple(rest.get("flags", ()))
        if "for" in rest:
            rest["lasting"] = rest.pop("for")
        return cls(verb, what, **rest)

    def __str__(self) -> str:
        """Return it short, for the story of a failure."""
        where = {"signal": f" to the {self.to} of node {self.node}", "log": f" of node {self.node}"}.get(self.verb, "")
        how_long = "" if self.lasting is None else f" for {self.lasting:g} s"
        return f"{self.verb} {self.what}{where}{how_long}"


@dataclass(frozen=True)
class Scene:
    """How it begins, and what is done and seen."""

    name: str
    why: str
    steps: tuple[Step, ...]
    env: Mapping[str, str]
    nodes: int


@dataclass(frozen=True)
class Refusal:
    """A command line that ends with a message."""

    name: str
    flags: tuple[str, ...]
    says: str
    code: int


def scenes() -> list[Scene]:
    """Return the scenes that start engines."""
    found = yaml.safe_load(FILE.read_text())["scenes"]
    return [
        Scene(row["name"], row["why"], tuple(map(Step.read, row["steps"])), row.get("env", {}), row.get("nodes", 2))
        for row in found
    ]


def refusals() -> list[Refusal]:
    """Return the command lines that end with a message."""
    found = yaml.safe_load(FILE.read_text())["refusals"]
    return [Refusal(row["name"], tuple(row["flags"]), row["says"], row["code"]) for row in found]


@dataclass(frozen=True)
class Seen:
    """One step as it went: what was asked, what was seen, after how many seconds."""

    step: str
    seen: str
    seconds: float


def keep(name: str, engine: str, record: list[Seen]) -> None:
    """Write what was seen, where somebody asked for it; conformance.py makes a page of it."""
    if RECORD in os.environ:
        path = Path(os.environ[RECORD]) / f"{name}-{engine}.json"
        path.write_text(json.dumps([asdict(seen) for seen in record], indent=1))


class Player:
    """Plays a scene on a pair of nodes."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.record: list[Seen] = []

    def play(self, scene: Scene) -> None:
        """Do every step; an expectation that is not met fails the test with all that was seen before."""
        for step in scene.steps:
            began = time.monotonic()
            seen = self._do(step)
            self.record.append(Seen(str(step), seen, round(time.monotonic() - began, 1)))
            if step.verb in ("expect", "log"):
                story = "\n".join(f"  {each.seconds:6.1f} s  {each.step}: {each.seen}" for each in self.record)

                assert seen in step.allowed, f"{', '.join(step.allowed)} was expected:\n{story}"

    def _do(self, step: Step) -> str:
        pair = self.pair
        if step.verb == "start":
            pair.start(int(step.what), step.flags)
        elif step.verb == "signal":
            pair.send(step.node, step.what, step.to)
        elif step.verb == "stream":
            pair.stream(step.what, step.tokens)
        elif step.verb == "pause":
            time.sleep(float(step.what) * pair.engine.scale)
        elif step.verb == "log":
            return self._until(lambda: "written" if step.what in pair.log(step.node) else "", step.allowed, None)
        else:
            observe = self._observer(step.what)
            if step.lasting is not None:
                return self._throughout(observe, step.allowed, step.lasting * pair.engine.scale)
            return self._until(observe, step.allowed, step.within)
        return "done"

    def _observer(self, what: str) -> Callable[[], str]:
        kind, _, which = what.partition(" ")
        pair = self.pair
        return {
            "health": pair.health,
            "completion": pair.completion,
            "running": pair.running,
            "node": lambda: pair.process(int(which)),
            "stream": lambda: pair.streams[which].seen(),
        }[kind]

    def _until(self, observe: Callable[[], str], allowed: tuple[str, ...], seconds: float | None) -> str:
        """Ask until the answer is allowed; without a bound of its own, as long as a start may take."""
        deadline = time.monotonic() + (self.pair.engine.start if seconds is None else seconds)
        while (seen := observe()) not in allowed and time.monotonic() < deadline:
            if seconds is None and self.pair.ended():
                return f"{seen}, and {self.pair.ended()}"
            time.sleep(PERIOD)
        return seen

    def _throughout(self, observe: Callable[[], str], allowed: tuple[str, ...], seconds: float) -> str:
        """Ask for so long; return the first answer that is not allowed, else the last."""
        deadline = time.monotonic() + seconds
        while (seen := observe()) in allowed and time.monotonic() < deadline:
            time.sleep(PERIOD)
        return seen
