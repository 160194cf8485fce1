{{- /* Where pods may run. */}}

{{- /* serving.scheduling: the scheduling fields of the spec. Context: dict root, role, pod. */}}
{{- define "serving.scheduling" -}}
tolerations:
  {{- include "serving.tolerations" . | nindent 2 }}
{{- with include "serving.yaml" (include "serving.affinity" . | fromJson) }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with .pod.schedulerName | default (include "serving.queue.marks" . | fromJson).scheduler }}
schedulerName: {{ . }}
{{- end }}
{{- range $field := list "nodeSelector" "topologySpreadConstraints" "priorityClassName" "runtimeClassName" "imagePullSecrets" }}
{{- with get $.pod $field }}
{{- include "serving.yaml" (dict $field .) | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.tolerations: the accelerator's taint, then the user's. Kueue looks for it in the pod template, not at the
       ResourceFlavor. Context: dict root, role, pod. */}}
{{- define "serving.tolerations" -}}
- key: {{ .root.Values.group.resourceName }}
  operator: Exists
  effect: NoSchedule
{{- range $name, $toleration := .pod.tolerations }}
{{- include "serving.yaml" (list $toleration) | nindent 0 }}
{{- end }}
{{- end }}

{{- /* serving.affinity: the user's affinity; with the node's network also one such pod a node, whatever its release or
       namespace, because its ports are fixed. Context: dict root, role, pod. Gives JSON. */}}
{{- define "serving.affinity" -}}
{{- $affinity := .pod.affinity | default dict }}
{{- if (.root.Values.network).hostNetwork }}
{{- $alone := dict "topologyKey" "kubernetes.io/hostname" "namespaceSelector" dict "labelSelector" (dict "matchLabels" (dict "lockstep/network" "host")) }}
{{- $field := "requiredDuringSchedulingIgnoredDuringExecution" }}
{{- $anti := $affinity.podAntiAffinity | default dict }}
{{- $terms := append (get $anti $field | default list) $alone }}
{{- $affinity = set $affinity "podAntiAffinity" (set $anti $field $terms) }}
{{- end }}
{{- toJson $affinity }}
{{- end }}
