{{- /* Small readers of values, used by all parts. */}}

{{- /* serving.scalar: a scalar as text: numbers in digits, true and false as words. Context: the scalar. */}}
{{- define "serving.scalar" -}}
{{- if kindIs "string" . }}
{{- . }}
{{- else if not (kindIs "invalid" .) }}
{{- toRawJson . }}
{{- end }}
{{- end }}

{{- /* serving.literal: text that kubelet hands over as it stands, without expanding $(NAME). Context: the text. */}}
{{- define "serving.literal" -}}
{{- . | replace "$" "$$" }}
{{- end }}

{{- /* serving.duration: seconds as Go writes a duration, which is how Grove stores it. Context: the seconds. */}}
{{- define "serving.duration" -}}
{{- $seconds := int . }}
{{- if ge $seconds 3600 }}{{ div $seconds 3600 }}h{{ end }}
{{- if ge $seconds 60 }}{{ div (mod $seconds 3600) 60 }}m{{ end }}
{{- mod $seconds 60 }}s
{{- end }}

{{- /* serving.overlay: put maps on top of each other; an entry replaces the one of the same name, null removes it.
       Context: list of maps, the lowest first, some may be null. Gives JSON. */}}
{{- define "serving.overlay" -}}
{{- $merged := dict }}
{{- range $layer := . }}
{{- range $name, $entry := $layer | default dict }}
{{- if kindIs "invalid" $entry }}
{{- $merged = omit $merged $name }}
{{- else }}
{{- $_ := set $merged $name $entry }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $merged }}
{{- end }}

{{- /* serving.yaml: a map or list of the user's as YAML, without nulls; nothing if nothing is left. The API server
       refuses some nulls and drops the others. A copy is made only where there may be one: it costs more than all the
       rest. Context: the map or list. */}}
{{- define "serving.yaml" -}}
{{- $kept := . }}
{{- if and . (contains "null" (toJson .)) }}
{{- $kept = deepCopy . }}
{{- include "serving.dropNulls" $kept }}
{{- end }}
{{- with $kept }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- /* serving.dropNulls: take the null keys out of a map, or of the maps in a list, at any depth. Context: the map or
       list, which is changed. Gives nothing. */}}
{{- define "serving.dropNulls" -}}
{{- range $key, $entry := . }}
{{- if and (kindIs "map" $) (kindIs "invalid" $entry) }}
{{- $_ := unset $ $key }}
{{- else if or (kindIs "map" $entry) (kindIs "slice" $entry) }}
{{- include "serving.dropNulls" $entry }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.layout: the numbers of one replica, for .known.layout. Context: root. Gives JSON. */}}
{{- define "serving.layout" -}}
{{- $group := .Values.group }}
{{- $named := .Values.parallelism | default dict }}
{{- $layout := dict "nodes" (int $group.nodes) "gpusPerNode" (int $group.gpusPerNode) "loadBalancing" ($named.loadBalancing | default "internal") }}
{{- range $factor := list "tensor" "pipeline" "data" "context" }}
{{- $_ := set $layout $factor (get $named $factor | default 1 | int) }}
{{- end }}
{{- if not (or $named.tensor $named.pipeline $named.data $named.context) }}
{{- $_ := set $layout "tensor" $layout.gpusPerNode }}
{{- $_ := set $layout "pipeline" $layout.nodes }}
{{- end }}
{{- /* engines: data parallel engines beside each other; engine: GPUs of one; stage: ranks that can share experts. */}}
{{- $_ := set $layout "engines" (.known.engine.dataInTensor | ternary 1 $layout.data) }}
{{- $_ := set $layout "engine" (mul $layout.tensor $layout.pipeline $layout.context) }}
{{- $_ := set $layout "ranks" (mul $layout.engine $layout.engines) }}
{{- $_ := set $layout "stage" (div $layout.ranks $layout.pipeline) }}
{{- $_ := set $layout "expert" (eq (toString $named.expert) "all" | ternary $layout.stage ($named.expert | default 1) | int) }}
{{- toJson $layout }}
{{- end }}

{{- /* serving.everyPodServes: says true where every pod of a replica takes requests, not the leader alone. Context: root. */}}
{{- define "serving.everyPodServes" -}}
{{- if ne .known.layout.loadBalancing "internal" }}true{{ end }}
{{- end }}

{{- /* serving.serves: says true for a role that takes requests. Context: dict root, role. */}}
{{- define "serving.serves" -}}
{{- if or (eq .role "leader") (include "serving.everyPodServes" .root) }}true{{ end }}
{{- end }}

{{- /* serving.product: the factors of the layout in words. Context: the layout. */}}
{{- define "serving.product" -}}
tensor {{ .tensor }} x pipeline {{ .pipeline }}
{{- if gt .engines 1.0 }} x data {{ .data }}{{ end }}
{{- if gt .context 1.0 }} x context {{ .context }}{{ end }}
{{- end }}

{{- /* serving.intOrPercent: a percentage as text, anything else as a number. Context: the value. */}}
{{- define "serving.intOrPercent" -}}
{{- if contains "%" (toString .) }}
{{- . | quote }}
{{- else }}
{{- int . }}
{{- end }}
{{- end }}
