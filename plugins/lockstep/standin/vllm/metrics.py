"""The counters of ``/metrics`` that a supervisor or an autoscaler reads, under vLLM's names."""

from __future__ import annotations

from lockstep.standin.metrics import Metrics, sample


class VllmMetrics(Metrics):
    """As ``vllm serve`` shows them."""

    def lines(self) -> list[str]:
        """Return gauges, counters, histograms."""
        labels = f'engine="0",model_name="{self.model}"'
        return [
            *sample("gauge", "vllm:num_requests_running", labels, self.running),
            *sample("gauge", "vllm:num_requests_waiting", labels, self.waiting),
            *sample("gauge", "vllm:kv_cache_usage_perc", labels, self.cache),
            *sample("counter", "vllm:prompt_tokens_total", labels, self.read),
            *sample("counter", "vllm:generation_tokens_total", labels, self.made),
            *sample("counter", "vllm:num_preemptions_total", labels, 0.0),
            "# TYPE vllm:request_success_total counter",
            *(
                f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {value}'
                for reason, value in self.finished.items()
            ),
            *self.iterations.lines("vllm:iteration_tokens_total", labels),
            *self.first.lines("vllm:time_to_first_token_seconds", labels),
            *self.whole.lines("vllm:e2e_request_latency_seconds", labels),
        ]
