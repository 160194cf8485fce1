{{- /* Stack lws: a LeaderWorkerSet. Facts: kubernetes-sigs/lws v0.8 to v0.10. */}}

{{- /* serving.stack.lws.queues: managers that fit, the default first. Context: root. */}}
{{- define "serving.stack.lws.queues" -}}
none kueue kai volcano
{{- end }}

{{- /* serving.stack.lws.leader: what finds the leaders. Context: root. */}}
{{- define "serving.stack.lws.leader" -}}
{{- include "serving.roleSelector" (dict "root" . "role" "leader") }}
{{- end }}

{{- /* serving.stack.lws.suffix: what the name carries besides. Kueue freezes what pods request and where they may run, and
       takes another size to leave its pods waiting for ever (seen with 0.17); so under it the name carries a hash of all
       that, and such a change makes a new set and removes the old one. Context: root. */}}
{{- define "serving.stack.lws.suffix" -}}
{{- if (include "serving.queue.marks" (dict "root" . "role" "leader") | fromJson).freezesShape }}
{{- printf "-%s" (include "serving.stack.lws.shape" . | sha256sum | trunc 6) }}
{{- end }}
{{- end }}

{{- /* serving.stack.lws.shape: what Kueue freezes. Context: root. Gives JSON. */}}
{{- define "serving.stack.lws.shape" -}}
{{- $shape := list (int .Values.group.nodes) (toJson .known.ports) }}
{{- range $role := list "leader" "worker" }}
{{- $context := dict "root" $ "role" $role "pod" (include "serving.pod" (dict "root" $ "role" $role) | fromJson) }}
{{- $shape = append $shape (include "serving.queue.marks" $context) }}
{{- $shape = append $shape (include "serving.scheduling" $context) }}
{{- $shape = append $shape (include "serving.resources" $context) }}
{{- range $containers := list $context.pod.initContainers $context.pod.sidecars }}
{{- range $name, $container := $containers }}
{{- $shape = append $shape (pick ($container | default dict) "resources" "ports" | toJson | printf "%s %s" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $shape }}
{{- end }}

{{- /* serving.stack.lws.contract: rank, size and leader come from the variables that LeaderWorkerSet puts in front of ours.
       Context: root. */}}
{{- define "serving.stack.lws.contract" -}}
{{- $group := printf "%s/%s%s" .Release.Namespace (include "serving.fullname" .) .known.suffix -}}
- name: LOCKSTEP_GROUP_INDEX
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['leaderworkerset.sigs.k8s.io/group-index']
- {name: LOCKSTEP_GROUP, value: {{ $group }}-$(LOCKSTEP_GROUP_INDEX)}
- {name: LOCKSTEP_NODE_RANK, value: $(LWS_WORKER_INDEX)}
- {name: LOCKSTEP_NODE_COUNT, value: $(LWS_GROUP_SIZE)}
- {name: LOCKSTEP_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}
{{- end }}

{{- /* serving.stack.lws.references: variables that only the command could refer to: none. Context: dict root, role. */}}
{{- define "serving.stack.lws.references" -}}
{{- end }}

{{- /* serving.stack.lws.peers: names under which the pods of all groups are found. Context: root. */}}
{{- define "serving.stack.lws.peers" -}}
{{- include "serving.fullname" . }}{{ .known.suffix }}
{{- end }}

{{- /* serving.stack.lws.scaled: what an autoscaler scales. Context: root. Gives YAML. */}}
{{- define "serving.stack.lws.scaled" -}}
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
name: {{ include "serving.fullname" . }}{{ .known.suffix }}
{{- end }}

{{- /* serving.stack.lws.rules: what this stack cannot do. Context: root. Gives lines. */}}
{{- define "serving.stack.lws.rules" -}}
{{- $name := include "serving.fullname" . }}
{{- $rollout := include "serving.rollout" . | fromJson }}
{{- $last := sub (max 1 (add $rollout.most $rollout.surge)) 1 | toString }}
{{- if .known.suffix }}
{{- $room := sub 33 (len $last) | int }}
{{- include "serving.rule.name" (list $name $room (printf "Kueue labels pods leaderworkerset-<name>-<shape>-<group>-<hash>: 63 characters less 30 for the rest and %d for group %s" (len $last) $last)) }}
{{- if contains "%" (toString .Values.rollout.maxSurge) }}
STK010 rollout.maxSurge is {{ .Values.rollout.maxSurge }}, but Kueue reads a percentage as 0 and lets the extra groups wait for ever; give a number of groups
{{- end }}
{{- else }}
{{- $room := sub 51 (len $last) | int }}
{{- include "serving.rule.name" (list $name $room (printf "LeaderWorkerSet labels its workers <name>-<group>-<hash>: 63 characters less 12 for the rest and %d for group %s" (len $last) $last)) }}
{{- end }}
{{- if and (gt $rollout.replicas 0.0) (eq $rollout.unavailable 0.0) (gt $rollout.surge 0.0) (le $rollout.replicas $rollout.surge) }}
STK004 rollout: with replicas {{ $rollout.replicas }}, maxUnavailable {{ .Values.rollout.maxUnavailable }} and maxSurge {{ .Values.rollout.maxSurge }} LeaderWorkerSet never replaces the old group (seen with 0.8); set rollout.maxUnavailable: 1, or replicas above maxSurge
{{- end }}
{{- if eq (toString (.Values.stack.lws).onPodLoss) "replace" }}
{{- include "serving.rule.supervisor" (list . "stack.lws.onPodLoss is replace") }}
{{- end }}
{{- end }}

{{- /* serving.stack.lws.warnings: what works on this stack, but costs something. Context: root. Gives lines. */}}
{{- define "serving.stack.lws.warnings" -}}
{{- end }}
