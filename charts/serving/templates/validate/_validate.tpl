{{- /* What the schema cannot say: rules over several keys. Each rule gives lines that begin with a code; a code's
       meaning is told by `lockstep explain CODE`. All are collected, then the chart fails once. */}}

{{- /* serving.validate: fail with every message, or give nothing. Context: root. */}}
{{- define "serving.validate" -}}
{{- $messages := list }}
{{- $topics := list "rules.layout" "rules.flags" "rules.variables" "rules.references" "rules.changes" "rules.versions" "rules.abilities" "rules.stack" "rules.queue" "rules.autoscaling" "rules.metadata" "rules.devices" "rules.pods" "rules.volumes" "rules.probes" "rules.weights" "rules.supervisor" }}
{{- range $topic := concat $topics (list (printf "engine.%s.rules" .Values.engine.name) (printf "stack.%s.rules" .Values.stack.name)) }}
{{- range $line := include (printf "serving.%s" $topic) $ | splitList "\n" }}
{{- $messages = append $messages (trim $line) }}
{{- end }}
{{- end }}
{{- with without $messages "" | uniq }}
{{- fail (printf "these values are refused (%d):\n\n%s\n" (len .) (join "\n" .)) }}
{{- end }}
{{- end }}

{{- /* serving.rules.layout: the law. Context: root. Gives lines. */}}
{{- define "serving.rules.layout" -}}
{{- $layout := .known.layout }}
{{- $ranks := $layout.ranks | int }}
{{- $gpus := mul $layout.nodes $layout.gpusPerNode }}
{{- if ne $ranks $gpus }}
{{- $fix := printf "set parallelism to tensor: %d, pipeline: %d" (int $layout.gpusPerNode) (int $layout.nodes) }}
{{- if eq 0 (mod $ranks $layout.gpusPerNode) }}
{{- $fix = printf "%s, or group.nodes: %d" $fix (div $ranks $layout.gpusPerNode) }}
{{- end }}
PAR001 parallelism needs {{ include "serving.product" $layout }} = {{ $ranks }} GPU{{ if gt $ranks 1 }}s{{ end }}, but group has {{ $layout.nodes }} node{{ if gt (int $layout.nodes) 1 }}s{{ end }} x {{ $layout.gpusPerNode }} gpusPerNode = {{ $gpus }}; {{ $fix }}
{{- end }}
{{- end }}
