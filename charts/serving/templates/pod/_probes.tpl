{{- /* Probes of the engine container. */}}

{{- /* serving.probes: startup, readiness and liveness. Context: dict root, role, pod. */}}
{{- define "serving.probes" -}}
{{- range $kind, $default := include "serving.probes.default" . | fromYaml }}
{{- $own := get ($.pod.probes | default dict) $kind | default dict }}
{{- if pick $own "httpGet" "tcpSocket" "exec" "grpc" }}
{{- $default = omit $default "httpGet" "exec" }}
{{- end }}
{{- $probe := include "serving.overlay" (list $default $own) | fromJson }}
{{- if and (eq $kind "startup") (not $own.failureThreshold) }}
{{- $_ := set $probe "failureThreshold" (divf (add $.root.Values.startup.seconds 600) $probe.periodSeconds | ceil | int) }}
{{- end }}
{{ $kind }}Probe:
  {{- toYaml $probe | nindent 2 }}
{{- end }}
{{- end }}

{{- /* serving.probes.default: the chart's probes. Context: dict root, role. Gives YAML. */}}
{{- define "serving.probes.default" -}}
startup:
  {{- include "serving.probes.handler" (list . "/startup") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
readiness:
  {{- include "serving.probes.handler" (list . "/ready") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
liveness:
  {{- include "serving.probes.handler" (list . "/live") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- end }}

{{- /* serving.probes.handler: the supervisor answers for its rank on every pod. Without it only the leader has HTTP,
       and a worker lives as long as its leader. Context: list of (dict root, role) and the supervisor's path. */}}
{{- define "serving.probes.handler" -}}
{{- $context := first . }}
{{- if $context.root.Values.supervisor.enabled -}}
httpGet: {path: {{ last . }}, port: status}
{{- else if eq $context.role "leader" -}}
httpGet: {path: {{ (include "serving.engine.facts" $context.root | fromJson).healthPath }}, port: http}
{{- else -}}
exec: {command: [bash, /lockstep/launch.sh, alive]}
{{- end }}
{{- end }}
