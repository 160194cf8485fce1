{{- /* Stack lws: a LeaderWorkerSet. Facts: kubernetes-sigs/lws v0.8 to v0.10. */}}

{{- /* serving.stack.lws.queues: managers that fit, the default first. Context: root. */}}
{{- define "serving.stack.lws.queues" -}}
none
{{- end }}

{{- /* serving.stack.lws.leader: what finds the leaders. Context: root. */}}
{{- define "serving.stack.lws.leader" -}}
{{- include "serving.roleSelector" (dict "root" . "role" "leader") }}
{{- end }}

{{- /* serving.stack.lws.contract: rank, size and leader come from the variables that LeaderWorkerSet puts in front of ours.
       Context: root. */}}
{{- define "serving.stack.lws.contract" -}}
{{- $group := printf "%s/%s" .Release.Namespace (include "serving.fullname" .) -}}
- name: LOCKSTEP_GROUP_INDEX
  valueFrom:
    fieldRef:
      fieldPath: metadata.labels['leaderworkerset.sigs.k8s.io/group-index']
- {name: LOCKSTEP_GROUP, value: {{ $group }}-$(LOCKSTEP_GROUP_INDEX)}
- {name: LOCKSTEP_NODE_RANK, value: $(LWS_WORKER_INDEX)}
- {name: LOCKSTEP_NODE_COUNT, value: $(LWS_GROUP_SIZE)}
- {name: LOCKSTEP_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}
{{- end }}

{{- /* serving.stack.lws.rules: what this stack cannot do. Context: root. Gives lines. */}}
{{- define "serving.stack.lws.rules" -}}
{{- $name := include "serving.fullname" . }}
{{- $rollout := include "serving.rollout" . | fromJson }}
{{- $last := sub (max 1 (add $rollout.replicas $rollout.surge)) 1 | toString }}
{{- $room := sub 51 (len $last) | int }}
{{- include "serving.rule.name" (list $name $room (printf "LeaderWorkerSet labels its workers <name>-<group>-<hash>: 63 characters less 12 for the rest and %d for group %s" (len $last) $last)) }}
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
