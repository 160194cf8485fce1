"""The counters of ``/metrics`` under SGLang's names (sglang/srt/observability)."""

from __future__ import annotations

from lockstep.standin.metrics import Metrics, sample


class SglangMetrics(Metrics):
    """As a server with ``--enable-metrics`` shows them."""

    def lines(self) -> list[str]:
        """Return gauges and counters."""
        labels = f'engine_type="unified",model_name="{self.model}",pp_rank="0",tp_rank="0"'
        return [
            *sample("gauge", "sglang:num_running_reqs", labels, self.running),
            *sample("gauge", "sglang:num_queue_reqs", labels, self.waiting),
            *sample("gauge", "sglang:token_usage", labels, self.cache),
            *sample("counter", "sglang:prompt_tokens_total", labels, self.read),
            *sample("counter", "sglang:generation_tokens_total", labels, self.made),
            *sample("counter", "sglang:realtime_tokens_total", labels, self.read + self.made),
            *sample("counter", "sglang:num_requests_total", labels, sum(self.finished.values())),
        ]
