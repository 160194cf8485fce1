{{- /* What the chart must know of the engine. Facts come from files/engines/; each engine adds one partial. */}}

{{- /* serving.engine.device: what the engine's entry says of the accelerator. Context: root. Gives JSON. */}}
{{- define "serving.engine.device" -}}
{{- get (.known.engine.devices | default dict) .Values.group.resourceName | default dict | toJson }}
{{- end }}

{{- /* serving.engine.repository: repository of the engine's own image for the accelerator; empty if there is none.
       Context: root. */}}
{{- define "serving.engine.repository" -}}
{{- $facts := .known.engine }}
{{- if hasKey ($facts.devices | default dict) .Values.group.resourceName }}
{{- (include "serving.engine.device" . | fromJson).repository | default "" }}
{{- else }}
{{- $facts.image.repository }}
{{- end }}
{{- end }}

{{- /* serving.engine.numbers: the numbers of the declared version, without a suffix. Context: root. */}}
{{- define "serving.engine.numbers" -}}
{{- include "serving.engine.version" . | regexFind "^[0-9.]*[0-9]" }}
{{- end }}

{{- /* serving.engine.version: declared version of the engine. Context: root. */}}
{{- define "serving.engine.version" -}}
{{- .Values.engine.version | default .known.engine.version }}
{{- end }}

{{- /* serving.engine.image: reference of the image. Context: root. */}}
{{- define "serving.engine.image" -}}
{{- $default := .known.engine.image }}
{{- $image := .Values.engine.image | default dict }}
{{- $repository := $image.repository | default (include "serving.engine.repository" .) }}
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

{{- /* serving.engine.argsFor: the flags that engine.argsFor has for this engine. Context: root. Gives JSON. */}}
{{- define "serving.engine.argsFor" -}}
{{- get (.Values.engine.argsFor | default dict) .Values.engine.name | default dict | toJson }}
{{- end }}

{{- /* serving.engine.givenArgs: engine.args on top of engine.argsFor. Context: root. Gives JSON. */}}
{{- define "serving.engine.givenArgs" -}}
{{- include "serving.overlay" (list (include "serving.engine.argsFor" . | fromJson) .Values.engine.args) }}
{{- end }}

{{- /* serving.engine.argPath: the values path of a flag. Context: list of root and the key. */}}
{{- define "serving.engine.argPath" -}}
{{- $engine := (first .).Values.engine }}
{{- $section := hasKey ($engine.args | default dict) (last .) | ternary "args" (printf "argsFor.%s" $engine.name) }}
{{- printf "engine.%s.%s" $section (last .) }}
{{- end }}

{{- /* serving.engine.allArgs: the user's flags on top of what the accelerator needs for pipeline parallelism.
       Context: root. Gives JSON. */}}
{{- define "serving.engine.allArgs" -}}
{{- $needed := dict }}
{{- if gt .known.layout.pipeline 1.0 }}
{{- $needed = (include "serving.engine.device" . | fromJson).pipelineArgs }}
{{- end }}
{{- include "serving.overlay" (list $needed (include "serving.engine.argsFor" . | fromJson) .Values.engine.args) }}
{{- end }}

{{- /* serving.engine.args: all flags as a list of arguments, sorted by key. Context: root. Gives YAML. */}}
{{- define "serving.engine.args" -}}
{{- $negation := .known.engine.negation }}
{{- $args := list }}
{{- range $key, $value := include "serving.engine.allArgs" . | fromJson }}
{{- $flag := hasPrefix "-" $key | ternary $key (printf "--%s" $key) }}
{{- if kindIs "invalid" $value }}
{{- else if kindIs "bool" $value }}
{{- if or $value $negation }}
{{- $args = append $args ($value | ternary $flag (printf "--%s%s" $negation (include "serving.engine.flagName" $key))) }}
{{- end }}
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
