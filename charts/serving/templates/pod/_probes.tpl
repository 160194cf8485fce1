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
  {{- include "serving.yaml" $probe | nindent 2 }}
{{- end }}
{{- end }}

{{- /* serving.probes.default: the chart's probes. Where an engine's own answer may take long, they wait longer. The
       supervisor answers from what it knows, so a group that is lost leaves the Service within seconds.
       Context: dict root, role. Gives YAML. */}}
{{- define "serving.probes.default" -}}
{{- $slow := 0 }}
{{- if and (include "serving.serves" .) (not .root.Values.supervisor.enabled) }}
{{- $slow = .root.known.engine.healthSeconds | default 0 | int }}
{{- end -}}
startup:
  {{- include "serving.probes.handler" (list . "/startup") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: {{ max 5 (add $slow 5) }}
readiness:
  {{- include "serving.probes.handler" (list . "/ready") | nindent 2 }}
  periodSeconds: {{ .root.Values.supervisor.enabled | ternary 2 5 }}
  timeoutSeconds: {{ max 5 (add $slow 5) }}
  failureThreshold: {{ .root.Values.supervisor.enabled | ternary 2 3 }}
liveness:
  {{- include "serving.probes.handler" (list . "/live") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: {{ max 10 (add $slow 5) }}
  failureThreshold: 6
{{- end }}

{{- /* serving.probes.handler: the supervisor answers for its rank on every pod. Without it only who serves has HTTP,
       and any other worker lives as long as its leader. Context: list of (dict root, role) and the supervisor's path. */}}
{{- define "serving.probes.handler" -}}
{{- $context := first . }}
{{- if $context.root.Values.supervisor.enabled -}}
httpGet: {path: {{ last . }}, port: status}
{{- else if include "serving.serves" $context -}}
httpGet: {path: {{ $context.root.known.engine.healthPath }}, port: http}
{{- else -}}
exec: {command: [bash, /lockstep/launch.sh, alive]}
{{- end }}
{{- end }}
