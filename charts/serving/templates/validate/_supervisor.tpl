{{- /* Rules of the supervisor. */}}

{{- /* serving.rules.supervisor: times that would make it stop a healthy group. Context: root. Gives lines. */}}
{{- define "serving.rules.supervisor" -}}
{{- $supervisor := .Values.supervisor }}
{{- $beat := int $supervisor.heartbeatSeconds }}
{{- $deadline := int $supervisor.deadlineSeconds }}
{{- if and $supervisor.enabled (gt (mul 2 $beat) $deadline) }}
OPS006 supervisor.deadlineSeconds is {{ $deadline }}, but heartbeatSeconds is {{ $beat }}: within a deadline two heartbeats must fit, or one late packet stops the group; set supervisor.deadlineSeconds: {{ mul 2 $beat }} or more
{{- end }}
{{- end }}
