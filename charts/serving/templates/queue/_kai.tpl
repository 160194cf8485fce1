{{- /* KAI. Facts: kai-scheduler/KAI-Scheduler v0.15. */}}

{{- /* serving.queue.kai: the queue is a label of the set and of every pod, and only KAI's own scheduler reads it. A
       topology is named as charts/queues names it. Context: dict root, role. Gives YAML. */}}
{{- define "serving.queue.kai" -}}
scheduler: kai-scheduler
labels:
  kai.scheduler/queue: {{ include "serving.queue.name" .root | quote }}
  {{- with (.root.Values.queue).priorityClass }}
  priorityClassName: {{ . | quote }}
  {{- end }}
podLabels:
  kai.scheduler/queue: {{ include "serving.queue.name" .root | quote }}
{{- with include "serving.topology" .root }}
annotations:
  kai.scheduler/topology: serving
  kai.scheduler/topology-required-placement: {{ . | quote }}
{{- end }}
{{- end }}
