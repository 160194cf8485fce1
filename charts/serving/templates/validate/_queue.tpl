{{- /* Rules of the queue and of the topology. */}}

{{- /* serving.rules.queue: a manager that the stack does not have, or settings that nobody reads. Context: root. Gives
       lines. */}}
{{- define "serving.rules.queue" -}}
{{- $queue := .Values.queue | default dict }}
{{- $managers := include "serving.queue.managers" . | fromJsonArray }}
{{- $manager := include "serving.queue.manager" . }}
{{- if not (has $manager $managers) }}
STK009 queue.manager is {{ $manager }}, but stack {{ .Values.stack.name }} has {{ join ", " $managers }}; remove it, or set stack.name: lws
{{- else }}
{{- $marks := include "serving.queue.marks" (dict "root" . "role" "leader") | fromJson }}
{{- range $key := list "name" "priorityClass" }}
{{- if and (get $queue $key) (eq $manager "none") }}
STK009 queue.{{ $key }} is set, but there is no queue.manager that reads it; set queue.manager, or remove it
{{- end }}
{{- end }}
{{- if and $queue.priorityClass (eq $manager "volcano") }}
STK009 queue.priorityClass is set, but LeaderWorkerSet hands no priority to Volcano; set pod.priorityClassName
{{- end }}
{{- range $section := list "pod" "leader" "worker" }}
{{- $given := (get $.Values $section | default dict).schedulerName }}
{{- if and $marks.scheduler $given (ne $given $marks.scheduler) }}
STK014 {{ $section }}.schedulerName is {{ $given }}, but queue.manager {{ $manager }} places pods with {{ $marks.scheduler }}; remove it
{{- end }}
{{- end }}
{{- include "serving.rules.topology" (list . $manager) }}
{{- end }}
{{- end }}

{{- /* serving.rules.topology: a topology that nobody reads, or that never fits. Context: list of root and the manager.
       Gives lines. */}}
{{- define "serving.rules.topology" -}}
{{- $root := first . }}
{{- with $root.Values.topology }}
{{- if eq (int $root.Values.group.nodes) 1 }}
STK011 topology is {{ . }}, but group.nodes is 1: a group on one node is in one place anyway; remove it
{{- else if eq (last $) "volcano" }}
STK011 topology is {{ . }}, but with queue.manager volcano nobody reads it: Volcano waits for all pods of a group, and LeaderWorkerSet makes the workers only when the leader has its place; set queue.manager: kueue or kai
{{- end }}
{{- end }}
{{- end }}
