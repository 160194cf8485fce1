{{- /* The pod template, the same for every stack. A stack's template includes serving.podTemplate once for each role. */}}

{{- /* serving.podTemplate: metadata and spec. Context: dict root, role, and group where the pods of one are labelled. */}}
{{- define "serving.podTemplate" -}}
metadata:
  {{- include "serving.podMetadata" . | nindent 2 }}
spec:
  {{- include "serving.podSpec" . | nindent 2 }}
{{- end }}

{{- /* serving.podMetadata: labels and annotations. Context: dict root, role, group. */}}
{{- define "serving.podMetadata" -}}
{{- $pod := include "serving.pod" . | fromJson }}
{{- $marks := include "serving.queue.marks" . | fromJson -}}
labels:
  {{- include "serving.podLabels" (dict "root" .root "role" .role "group" .group "pod" $pod "marks" $marks) | nindent 2 }}
annotations:
  lockstep/launch-checksum: {{ .root.known.checksum }}
  {{- with merge ($pod.annotations | default dict) ($marks.podAnnotations | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* serving.pod: the values of pod with those of the role on top. Context: dict root, role. Gives JSON. */}}
{{- define "serving.pod" -}}
{{- $pod := dict }}
{{- range $layer := list .root.Values.pod (index .root.Values .role) }}
{{- range $field, $value := $layer }}
{{- if kindIs "map" $value }}
{{- $value = include "serving.overlay" (list (get $pod $field | default dict) $value) | fromJson }}
{{- end }}
{{- $_ := set $pod $field $value }}
{{- end }}
{{- end }}
{{- toJson $pod }}
{{- end }}

{{- /* serving.podLabels: labels of a pod. Nothing here changes with a version. Context: dict root, role,
       group, pod, marks. */}}
{{- define "serving.podLabels" -}}
{{- include "serving.roleSelector" . }}
{{- with .group }}
lockstep/group: {{ . | quote }}
{{- end }}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role }}
{{- if (.root.Values.network).hostNetwork }}
lockstep/network: host
{{- end }}
{{- with merge (.pod.labels | default dict) (.marks.podLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* serving.podSpec: the spec. Context: dict root, role. */}}
{{- define "serving.podSpec" -}}
{{- $context := dict "root" .root "role" .role "pod" (include "serving.pod" . | fromJson) }}
{{- /* A Service called vllm would otherwise put VLLM_PORT=tcp://... into the environment. */}}
{{- $drain := .root.Values.drain -}}
enableServiceLinks: false
serviceAccountName: {{ include "serving.serviceAccountName" .root | quote }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ add $drain.propagationSeconds $drain.seconds 30 }}
{{- if (.root.Values.network).hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with include "serving.yaml" (.root.Values.security).pod }}
securityContext:
  {{- . | nindent 2 }}
{{- end }}
{{- include "serving.scheduling" $context | nindent 0 }}
{{- with include "serving.containers" (list $context.pod.initContainers) }}
initContainers:
  {{- . | nindent 2 }}
{{- end }}
containers:
  {{- include "serving.container" $context | nindent 2 }}
  {{- with include "serving.containers" (list $context.pod.sidecars) }}
  {{- . | nindent 2 }}
  {{- end }}
volumes:
  {{- include "serving.volumes" $context | trim | nindent 2 }}
{{- end }}
