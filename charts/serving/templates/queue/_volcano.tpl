{{- /* Volcano. Facts: kubernetes-sigs/lws v0.8 pkg/schedulerprovider, which makes a PodGroup for each group. */}}

{{- /* serving.queue.volcano: LeaderWorkerSet takes the queue from its own annotation; the scheduler it leaves to us.
       Context: dict root, role. Gives YAML. */}}
{{- define "serving.queue.volcano" -}}
scheduler: volcano
annotations:
  scheduling.volcano.sh/queue-name: {{ include "serving.queue.name" .root | quote }}
{{- end }}
