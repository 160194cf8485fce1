"""The counters of ``/metrics`` that a supervisor or an autoscaler reads, under vLLM's names."""

from __future__ import annotations

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


class Metrics:
    """All of them. They change when a step ends, and only then: with a hung step they stand still."""

    def __init__(self, model: str, cache_tokens: int) -> None:
        self._lock = Lock()
        self._labels = f'engine="0",model_name="{model}"'
        self._cache_tokens = cache_tokens
        self._gauges = {"num_requests_running": 0.0, "num_requests_waiting": 0.0, "kv_cache_usage_perc": 0.0}
        self._counters = {"prompt_tokens": 0.0, "generation_tokens": 0.0, "num_preemptions": 0.0}
        self._finished = {"stop": 0.0, "length": 0.0, "abort": 0.0, "error": 0.0}
        self._iterations = Histogram(ITERATION_BUCKETS)
        self._first = Histogram(SECONDS_BUCKETS)
        self._whole = Histogram(SECONDS_BUCKETS)

    def step(self, message: Message) -> None:
        """Take over what a finished step says."""
        with self._lock:
            tokens = message["tokens"]
            made = len(tokens) if isinstance(tokens, dict) else 0
            read, held = float(str(message["read"])), float(str(message["held"]))
            self._gauges["num_requests_running"] = float(str(message["running"]))
            self._gauges["num_requests_waiting"] = float(str(message["waiting"]))
            self._gauges["kv_cache_usage_perc"] = min(1.0, held / self._cache_tokens)
            self._counters["generation_tokens"] += made
            self._counters["prompt_tokens"] += read
            self._iterations.observe(made + read)

    def first_token(self, seconds: float) -> None:
        """Count the wait for a first token."""
        with self._lock:
            self._first.observe(seconds)

    def finished(self, reason: str, seconds: float) -> None:
        """Count a request that ended."""
        with self._lock:
            self._finished[reason] += 1
            self._whole.observe(seconds)

    def render(self) -> str:
        """Return the text of ``/metrics``."""
        with self._lock:
            lines: list[str] = []
            for name, value in self._gauges.items():
                lines += [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{self._labels}}} {value}"]
            for name, value in self._counters.items():
                lines += [f"# TYPE vllm:{name}_total counter", f"vllm:{name}_total{{{self._labels}}} {value}"]
            lines.append("# TYPE vllm:request_success_total counter")
            lines += [
                f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {value}'
                for reason, value in self._finished.items()
            ]
            lines += self._iterations.lines("vllm:iteration_tokens_total", self._labels)
            lines += self._first.lines("vllm:time_to_first_token_seconds", self._labels)
            lines += self._whole.lines("vllm:e2e_request_latency_seconds", self._labels)
            return "\n".join(lines) + "\n"
