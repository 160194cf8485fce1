{{- /* The launch scripts. They are never templated: their bytes reach the pods as they lie in files/launch. */}}

{{- /* serving.launchFiles: put the scripts that this engine needs into .known.launch. Context: root. Gives nothing. */}}
{{- define "serving.launchFiles" -}}
{{- $files := .known.launch }}
{{- $engine := printf "engines/%s.sh" .Values.engine.name }}
{{- range $path, $content := .Files.Glob "files/launch/**.{sh,py}" }}
{{- $path = trimPrefix "files/launch/" $path }}
{{- if or (eq $path $engine) (hasPrefix (printf "engines/%s/" $.Values.engine.name) $path) (not (hasPrefix "engines/" $path)) }}
{{- $_ := set $files $path (toString $content) }}
{{- end }}
{{- end }}
{{- range $path := list "launch.sh" "supervisor.py" $engine }}
{{- if not (hasKey $files $path) }}
{{- fail (printf "this copy of the chart is incomplete: files/launch/%s is not in it" $path) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.launchKey: a path as a key of the ConfigMap. Context: the path. */}}
{{- define "serving.launchKey" -}}
{{- replace "/" "." . }}
{{- end }}
