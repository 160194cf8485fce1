{{- /* Environment of the engine container: the contract, then what users may replace. */}}

{{- /* serving.env: all variables. Context: root. */}}
{{- define "serving.env" -}}
{{- $defaults := include "serving.env.defaults" . | fromYaml }}
{{- $engine := include (printf "serving.engine.%s.env" .Values.engine.name) . | fromYaml }}
{{- $layers := list $defaults $engine (.Values.network).env .Values.engine.env }}
{{- include "serving.contract" . }}
{{- range $name, $value := include "serving.overlay" $layers | fromJson }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- include "serving.yaml" $value | nindent 2 }}
  {{- else }}
  value: {{ include "serving.scalar" $value | toJson }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* serving.env.defaults: a home, caches and weights. Context: root. */}}
{{- define "serving.env.defaults" -}}
{{- /* USER and LOGNAME: torch asks for the user's name, and an arbitrary uid has no entry in /etc/passwd. */ -}}
HOME: /home/lockstep
USER: lockstep
LOGNAME: lockstep
XDG_CACHE_HOME: /cache
HF_HOME: /cache/huggingface
TRITON_CACHE_DIR: /cache/triton
TORCHINDUCTOR_CACHE_DIR: /cache/inductor
{{- if eq .Values.weights.source "hub" }}
{{- with .Values.weights.tokenSecret }}
HF_TOKEN:
  valueFrom: {{ include "serving.secretKeyRef" . }}
{{- end }}
{{- else }}
HF_HUB_OFFLINE: "1"
TRANSFORMERS_OFFLINE: "1"
{{- end }}
{{- end }}

{{- /* serving.secretKeyRef: an EnvVarSource for a key of an existing Secret. Context: name, key, optional. */}}
{{- define "serving.secretKeyRef" -}}
{{- $reference := dict "name" .name "key" (.key | default "token") }}
{{- if .optional }}
{{- $_ := set $reference "optional" true }}
{{- end }}
{{- dict "secretKeyRef" $reference | toJson }}
{{- end }}
