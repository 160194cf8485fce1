"""The counters of ``/prometheus/metrics`` under TensorRT-LLM's names (tensorrt_llm/metrics)."""

from __future__ import annotations

from lockstep.standin.metrics import Metrics, sample


class TrtllmMetrics(Metrics):
    """As a server with ``return_perf_metrics`` shows them."""

    def lines(self) -> list[str]:
        """Return gauges and counters."""
        labels = f'model_name="{self.model}"'
        return [
            *sample("gauge", "trtllm_num_requests_running", labels, self.running),
            *sample("gauge", "trtllm_num_requests_waiting", labels, self.waiting),
            *sample("gauge", "trtllm_kv_cache_utilization", labels, self.cache),
            *sample("counter", "trtllm_prompt_tokens_total", labels, self.read),
            *sample("counter", "trtllm_generation_tokens_total", labels, self.made),
            *sample("counter", "trtllm_request_success_total", labels, self.finished["length"]),
        ]
