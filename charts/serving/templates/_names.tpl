{{- /* Names and labels. */}}

{{- /* serving.fullname: name of the group's object; everything else carries it with a suffix. Context: root. */}}
{{- define "serving.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if .Chart.IsRoot }}
{{- .Release.Name }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name }}
{{- end }}
{{- end }}

{{- /* serving.metadata: name (with a suffix), namespace and labels of an object. Context: list of root and suffix. */}}
{{- define "serving.metadata" -}}
{{- $root := first . }}
{{- $fullname := include "serving.fullname" $root -}}
name: {{ printf "%s%s" $fullname (last .) | quote }}
namespace: {{ $root.Release.Namespace | quote }}
labels:
  app.kubernetes.io/name: {{ $root.Chart.Name }}
  app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
  app.kubernetes.io/version: {{ include "serving.engine.version" $root | quote }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
  lockstep/release: {{ $fullname | quote }}
{{- end }}

{{- /* serving.selector: what finds the pods of a release. Selectors use nothing else. Context: root. */}}
{{- define "serving.selector" -}}
lockstep/release: {{ include "serving.fullname" . | quote }}
{{- end }}

{{- /* serving.roleSelector: what finds the pods of one role. Context: dict root, role. */}}
{{- define "serving.roleSelector" -}}
{{- include "serving.selector" .root }}
lockstep/role: {{ .role }}
{{- end }}

{{- /* serving.servingSelector: what finds the pods that take requests. Context: root. */}}
{{- define "serving.servingSelector" -}}
{{- if include "serving.everyPodServes" . }}
{{- include "serving.selector" . }}
{{- else }}
{{- include (printf "serving.stack.%s.leader" .Values.stack.name) . }}
{{- end }}
{{- end }}

{{- /* serving.equalities: the leaders' selector as kubectl takes it. Context: root. */}}
{{- define "serving.equalities" -}}
{{- $equalities := list }}
{{- range $label, $value := include (printf "serving.stack.%s.leader" .Values.stack.name) . | fromYaml }}
{{- $equalities = append $equalities (printf "%s=%s" $label $value) }}
{{- end }}
{{- join "," $equalities }}
{{- end }}

{{- /* serving.serviceAccountName: the pods' ServiceAccount. Context: root. */}}
{{- define "serving.serviceAccountName" -}}
{{- ((.Values.security).serviceAccount).name | default (printf "%s-sa" (include "serving.fullname" .)) }}
{{- end }}
