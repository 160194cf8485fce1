{{- /* Who decides on the number of groups. */}}

{{- /* serving.autoscaler: the kind of autoscaler; empty if there is none. Context: root. */}}
{{- define "serving.autoscaler" -}}
{{- with .Values.autoscaling }}
{{- .manager | default "hpa" }}
{{- end }}
{{- end }}
