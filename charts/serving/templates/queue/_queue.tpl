{{- /* Who admits the groups, and in which part of the network they must lie. Each manager has one partial here, which
       says what it wants to find: labels and annotations of the set, of its pods, and a scheduler. */}}

{{- /* serving.queue.managers: the managers that the stack can have, its default first. Context: root. Gives JSON. */}}
{{- define "serving.queue.managers" -}}
{{- include (printf "serving.stack.%s.queues" .Values.stack.name) . | splitList " " | toJson }}
{{- end }}

{{- /* serving.queue.manager: who admits the groups, or none. Context: root. */}}
{{- define "serving.queue.manager" -}}
{{- (.Values.queue).manager | default (include "serving.queue.managers" . | fromJsonArray | first) }}
{{- end }}

{{- /* serving.queue.name: the queue that the groups wait in. Context: root. */}}
{{- define "serving.queue.name" -}}
{{- (.Values.queue).name | default "serving" }}
{{- end }}

{{- /* serving.queue.marks: what the manager wants to find. Context: dict root, role. Gives JSON. */}}
{{- define "serving.queue.marks" -}}
{{- include (printf "serving.queue.%s" (include "serving.queue.manager" .root)) . | fromYaml | toJson }}
{{- end }}

{{- /* serving.queue.none: nobody admits; LeaderWorkerSet itself keeps a group in one domain, and others out of it.
       Context: dict root, role. Gives YAML. */}}
{{- define "serving.queue.none" -}}
{{- with include "serving.topology" .root -}}
annotations:
  leaderworkerset.sigs.k8s.io/exclusive-topology: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* serving.topology: the node label that is the same on all nodes of a group; empty if any nodes do. Context: root. */}}
{{- define "serving.topology" -}}
{{- with .Values.topology }}
{{- get $.known.owned.topology . | default . }}
{{- end }}
{{- end }}
