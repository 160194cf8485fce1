{{- /* TensorRT-LLM. Whatever launch.sh can work out in the pod is not repeated here. */}}

{{- /* serving.engine.trtllm.contract: variables that are this engine's part of the contract. Context: root. */}}
{{- define "serving.engine.trtllm.contract" -}}
- {name: LOCKSTEP_SSH_PORT, value: {{ .known.ports.ssh | quote }}}
{{- if .Values.engine.sshSecret }}
- {name: LOCKSTEP_SSH_KEY, value: /ssh/key}
{{- end }}
{{- end }}

{{- /* serving.engine.trtllm.env: defaults that engine.env may replace. Context: root. */}}
{{- define "serving.engine.trtllm.env" -}}
{{- end }}

{{- /* serving.engine.trtllm.rules: what this engine cannot do. Context: root. Gives lines. */}}
{{- define "serving.engine.trtllm.rules" -}}
{{- $layout := .known.layout }}
{{- $since := .known.engine.servedNameSince }}
{{- $own := include "serving.modelReference" . }}
{{- if hasPrefix "/" $own }}
{{- $own = base $own }}
{{- end }}
{{- $name := .Values.model.servedName | default .Values.model.id }}
{{- if and (ne $name $own) (semverCompare (printf "< %s" $since) (include "serving.engine.numbers" .)) }}
ENG005 the model is to be served as {{ $name }}, but TensorRT-LLM {{ include "serving.engine.version" . }} serves it as {{ $own }}: it takes a name only from {{ $since }} on; set model.servedName: {{ $own }}
{{- end }}
{{- range $key, $value := include "serving.engine.givenArgs" . | fromJson }}
{{- if and (kindIs "map" $value) (has (include "serving.engine.flagName" $key) (list "config" "extra-llm-api-options")) }}
{{- range $row := $.known.engine.flags }}
{{- if hasKey $value $row.name }}
ENG001 {{ include "serving.engine.argPath" (list $ $key) }} sets {{ $row.name }}, which Lockstep derives; remove it, and use {{ $row.use }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if mod $layout.tensor $layout.expert }}
PAR009 parallelism.expert is {{ $layout.expert }}, but TensorRT-LLM deals experts to equal parts of the parallelism.tensor {{ $layout.tensor }} ranks; set parallelism.expert to a divisor of {{ $layout.tensor }}
{{- else if and (gt $layout.expert 1.0) (gt $layout.context 1.0) }}
PAR009 parallelism.expert is {{ $layout.expert }}, but with parallelism.context {{ $layout.context }} TensorRT-LLM has no expert parallelism; remove one of them
{{- end }}
{{- end }}
