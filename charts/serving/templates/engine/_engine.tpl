{{- /* What the chart must know of the engine. Facts come from files/engines.yaml; each engine adds one partial. */}}

{{- /* serving.engine.facts: the engine's entry in the table. Context: root. Gives JSON. */}}
{{- define "serving.engine.facts" -}}
{{- get (.Files.Get "files/engines.yaml" | fromYaml) .Values.engine.name | toJson }}
{{- end }}

{{- /* serving.engine.version: declared version of the engine. Context: root. */}}
{{- define "serving.engine.version" -}}
{{- .Values.engine.version | default (include "serving.engine.facts" . | fromJson).version }}
{{- end }}

{{- /* serving.engine.image: reference of the image. Context: root. */}}
{{- define "serving.engine.image" -}}
{{- $default := (include "serving.engine.facts" . | fromJson).image }}
{{- $image := .Values.engine.image | default dict }}
{{- $repository := $image.repository | default $default.repository }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository ($image.tag | default (printf "%s%s" $default.tagPrefix (include "serving.engine.version" .))) }}
{{- end }}
{{- end }}

{{- /* serving.engine.flagName: a key of engine.args in its one spelling. Context: the key. */}}
{{- define "serving.engine.flagName" -}}
{{- . | regexFind "[^-=][^=]*" | replace "_" "-" }}
{{- end }}

{{- /* serving.engine.args: engine.args as a list of arguments, sorted by key. Context: root. Gives YAML. */}}
{{- define "serving.engine.args" -}}
{{- $negation := (include "serving.engine.facts" . | fromJson).negation }}
{{- $args := list }}
{{- range $key, $value := .Values.engine.args }}
{{- $flag := hasPrefix "-" $key | ternary $key (printf "--%s" $key) }}
{{- if kindIs "invalid" $value }}
{{- else if kindIs "bool" $value }}
{{- $args = append $args ($value | ternary $flag (printf "--%s%s" $negation (include "serving.engine.flagName" $key))) }}
{{- else if kindIs "slice" $value }}
{{- $args = append $args $flag }}
{{- range $item := $value }}
{{- $args = append $args (include "serving.scalar" $item) }}
{{- end }}
{{- else }}
{{- $args = concat $args (list $flag (include "serving.scalar" $value)) }}
{{- end }}
{{- end }}
{{- range $argument := $args }}
- {{ include "serving.literal" $argument | toJson }}
{{- end }}
{{- end }}
