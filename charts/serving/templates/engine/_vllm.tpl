{{- /* vLLM. Whatever launch.sh can work out in the pod is not repeated here. */}}

{{- /* serving.engine.vllm.contract: variables that are this engine's part of the contract. Context: root. */}}
{{- define "serving.engine.vllm.contract" -}}
- {name: VLLM_HOST_IP, value: $(LOCKSTEP_POD_IP)}
{{- end }}

{{- /* serving.engine.vllm.env: defaults that engine.env may replace. Context: root. */}}
{{- define "serving.engine.vllm.env" -}}
VLLM_CACHE_ROOT: /cache/vllm
{{- end }}
