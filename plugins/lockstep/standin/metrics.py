"""What an engine counts. Each has names of its own for it, in its ``metrics.py``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep.standin.wire import Message

ITERATION_BUCKETS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
SECONDS_BUCKETS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Histogram:
    """A Prometheus histogram with fixed bounds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._counts = dict.fromkeys(bounds, 0)
        self._sum, self._count = 0.0, 0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._sum += value
        self._count += 1
        for bound in self._counts:
            self._counts[bound] += value <= bound

    def lines(self, name: str, labels: str) -> list[str]:
        """Return the exposition lines."""
        buckets = [(f"{float(bound)}", count) for bound, count in self._counts.items()] + [("+Inf", self._count)]
        return [
            f"# TYPE {name} histogram",
            *(f'{name}_bucket{{{labels},le="{bound}"}} {float(count)}' for bound, count in buckets),
            f"{name}_count{{{labels}}} {float(self._count)}",
            f"{name}_sum{{{labels}}} {self._sum}",
        ]


class Metrics(ABC):
    """All of them. They change when a step ends, and only then: with a hung step they stand still."""

    def __init__(self, model: str, cache_tokens: int) -> None:
        self.model = model
        self.running = self.waiting = self.cache = 0.0
        self.read = self.made = 0.0
        self.finished = {"stop": 0.0, "length": 0.0, "abort": 0.0, "error": 0.0}
        self.iterations = Histogram(ITERATION_BUCKETS)
        self.first = Histogram(SECONDS_BUCKETS)
        self.whole = Histogram(SECONDS_BUCKETS)
        self._lock = Lock()
        self._cache_tokens = cache_tokens

    def step(self, message: Message) -> None:
        """Take over what a finished step says."""
        with self._lock:
            tokens = message["tokens"]
            made = len(tokens) if isinstance(tokens, dict) else 0
            read, held = float(str(message["read"])), float(str(message["held"]))
            self.running = float(str(message["running"]))
            self.waiting = float(str(message["waiting"]))
            self.cache = min(1.0, held / self._cache_tokens)
            self.made += made
            self.read += read
            self.iterations.observe(made + read)

    def first_token(self, seconds: float) -> None:
        """Count the wait for a first token."""
        with self._lock:
            self.first.observe(seconds)

    def finish(self, reason: str, seconds: float) -> None:
        """Count a request that ended."""
        with self._lock:
            self.finished[reason] += 1
            self.whole.observe(seconds)

    def render(self) -> str:
        """Return the page."""
        with self._lock:
            return "\n".join(self.lines()) + "\n"

    @abstractmethod
    def lines(self) -> list[str]:
        """Return it under the engine's names."""


def sample(kind: str, name: str, labels: str, value: float) -> list[str]:
    """Return the lines of one value."""
    return [f"# TYPE {name} {kind}", f"{name}{{{labels}}} {value}"]
