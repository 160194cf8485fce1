{{- /* The pod of helm test: who it is, and what it is told. */}}

{{- /* serving.tests.selector: the label of the pod, by which the NetworkPolicy lets it in. Context: root. */}}
{{- define "serving.tests.selector" -}}
lockstep/test: {{ include "serving.fullname" . | quote }}
{{- end }}

{{- /* serving.tests.env: where to ask for what. Context: root. */}}
{{- define "serving.tests.env" -}}
- name: LOCKSTEP_TEST_API
  value: http://{{ include "serving.fullname" . }}-api:{{ int .Values.service.port }}
- name: LOCKSTEP_TEST_MODEL
  value: {{ .Values.model.servedName | default .Values.model.id | quote }}
{{- with get (.Values.engine.env | default dict) (.known.engine.keyVariable | default "none") }}
- name: LOCKSTEP_TEST_KEY
  {{- if kindIs "map" . }}
  {{- include "serving.yaml" . | nindent 2 }}
  {{- else }}
  value: {{ include "serving.scalar" . | toJson }}
  {{- end }}
{{- end }}
{{- if .Values.supervisor.enabled }}
{{- with include (printf "serving.stack.%s.peers" .Values.stack.name) . }}
- name: LOCKSTEP_TEST_PEERS
  value: {{ . | quote }}
- name: LOCKSTEP_TEST_NODES
  value: {{ int $.Values.group.nodes | quote }}
- name: LOCKSTEP_TEST_STATUS_PORT
  value: {{ $.known.ports.status | quote }}
{{- end }}
{{- end }}
{{- end }}
