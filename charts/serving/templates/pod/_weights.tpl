{{- /* Where the weights are. */}}

{{- /* serving.modelReference: what the engine is told to load, a name or a path. Context: root. */}}
{{- define "serving.modelReference" -}}
{{- if eq .Values.weights.source "hub" }}
{{- .Values.model.id }}
{{- else if eq .Values.weights.source "pvc" }}
{{- list "/models" (.Values.weights.path | default "" | trimAll "/") | compact | join "/" }}
{{- else -}}
/models
{{- end }}
{{- end }}

{{- /* serving.weightsVolume: source of the volume at /models; empty for the hub. Context: root. */}}
{{- define "serving.weightsVolume" -}}
{{- if eq .Values.weights.source "pvc" -}}
persistentVolumeClaim:
  claimName: {{ .Values.weights.claim | quote }}
  readOnly: true
{{- else if eq .Values.weights.source "hostPath" -}}
hostPath:
  path: {{ .Values.weights.path | quote }}
  type: Directory
{{- end }}
{{- end }}
