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

{{- /* serving.owned: the table of what belongs to the chart in every pod. Context: root. Gives YAML. */}}
{{- define "serving.owned" -}}
{{- .Files.Get "files/owned.yaml" }}
{{- end }}

{{- /* serving.ports: container ports by name. Context: root. Gives JSON. */}}
{{- define "serving.ports" -}}
{{- (include "serving.owned" . | fromYaml).ports | toJson }}
{{- end }}

{{- /* serving.layout: the numbers of one replica. Context: root. Gives JSON. */}}
{{- define "serving.layout" -}}
{{- $group := .Values.group }}
{{- $named := .Values.parallelism | default dict }}
{{- $tensor := $named.tensor | default 1 }}
{{- $pipeline := $named.pipeline | default 1 }}
{{- if not (or $named.tensor $named.pipeline) }}
{{- $tensor = $group.gpusPerNode }}
{{- $pipeline = $group.nodes }}
{{- end }}
{{- dict "nodes" (int $group.nodes) "gpusPerNode" (int $group.gpusPerNode) "tensor" (int $tensor) "pipeline" (int $pipeline) "data" 1 "context" 1 | toJson }}
{{- end }}

{{- /* serving.intOrPercent: a percentage as text, anything else as a number. Context: the value. */}}
{{- define "serving.intOrPercent" -}}
{{- if contains "%" (toString .) }}
{{- . | quote }}
{{- else }}
{{- int . }}
{{- end }}
{{- end }}
