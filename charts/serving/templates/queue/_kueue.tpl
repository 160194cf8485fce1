{{- /* Kueue. Facts: kubernetes-sigs/kueue v0.17 to v0.19, apis/kueue/v1beta2. */}}

{{- /* serving.queue.kueue: the queue is named on the set alone, from where Kueue brings it to the pods; a second label
       there gets in its way (kubernetes-sigs/kueue#10965). The topology is asked for on the pods, and a leader and its
       workers are two sets of pods that only a common name keeps together (kubernetes-sigs/kueue#4531).
       Context: dict root, role. Gives YAML. */}}
{{- define "serving.queue.kueue" -}}
freezesShape: true
labels:
  kueue.x-k8s.io/queue-name: {{ include "serving.queue.name" .root | quote }}
  {{- with (.root.Values.queue).priorityClass }}
  kueue.x-k8s.io/priority-class: {{ . | quote }}
  {{- end }}
{{- with include "serving.topology" .root }}
podAnnotations:
  kueue.x-k8s.io/podset-required-topology: {{ . | quote }}
  {{- if ne $.role "member" }}
  kueue.x-k8s.io/podset-group-name: group
  {{- end }}
{{- end }}
{{- end }}
