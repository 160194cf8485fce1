{{- /* Stack grove: a PodCliqueSet, placed whole by KAI. Facts: ai-dynamo/grove v0.1.0-alpha.11, run with KAI v0.15. */}}

{{- /* serving.stack.grove.queues: managers that fit, the default first. Context: root. */}}
{{- define "serving.stack.grove.queues" -}}
kai
{{- end }}

{{- /* serving.stack.grove.leader: what finds the leaders; Grove has no label for them. Context: root. */}}
{{- define "serving.stack.grove.leader" -}}
{{- include "serving.roleSelector" (dict "root" . "role" "leader") }}
{{- end }}

{{- /* serving.stack.grove.suffix: what the name carries besides. Grove lets the size of a group never change, so another
       size is another set. Context: root. */}}
{{- define "serving.stack.grove.suffix" -}}
-n{{ int .Values.group.nodes }}
{{- end }}

{{- /* serving.stack.grove.contract: what needs no variable of Grove's. Context: root. */}}
{{- define "serving.stack.grove.contract" -}}
- {name: LOCKSTEP_NODE_COUNT, value: {{ int .Values.group.nodes | quote }}}
{{- end }}

{{- /* serving.stack.grove.references: Grove puts its variables behind ours, where only the command can refer to them; its
       workers count from 0. Context: dict root, role. Gives YAML. */}}
{{- define "serving.stack.grove.references" -}}
- LOCKSTEP_GROUP={{ .root.Release.Namespace }}/$(GROVE_PCS_NAME)-$(GROVE_PCS_INDEX)
- LOCKSTEP_LEADER_ADDRESS=$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_PCS_NAME)-$(GROVE_PCS_INDEX)
- LOCKSTEP_NODE_RANK=$(GROVE_PCLQ_POD_INDEX)
- LOCKSTEP_RANK_OFFSET={{ eq .role "leader" | ternary 0 1 }}
{{- end }}

{{- /* serving.stack.grove.clique: one role of the group. Context: dict root, role, replicas. */}}
{{- define "serving.stack.grove.clique" -}}
- name: {{ .role }}
  {{- include "serving.podMetadata" . | nindent 2 }}
  spec:
    roleName: {{ .role }}
    replicas: {{ .replicas }}
    minAvailable: {{ .replicas }}
    podSpec:
      restartPolicy: Always
      {{- include "serving.podSpec" . | nindent 6 }}
{{- end }}

{{- /* serving.stack.grove.peers: names under which the pods of all groups are found, one a group. Context: root. */}}
{{- define "serving.stack.grove.peers" -}}
{{- $names := list }}
{{- range $index := until (int .Values.replicas) }}
{{- $names = append $names (printf "%s%s-%d" (include "serving.fullname" $) $.known.suffix $index) }}
{{- end }}
{{- join " " $names }}
{{- end }}

{{- /* serving.stack.grove.scaled: what an autoscaler scales: nothing. Context: root. Gives YAML. */}}
{{- define "serving.stack.grove.scaled" -}}
{{- end }}

{{- /* serving.stack.grove.rules: what this stack cannot do. Context: root. Gives lines. */}}
{{- define "serving.stack.grove.rules" -}}
{{- $size := .known.suffix }}
{{- $room := sub 38 (len $size) | int }}
{{- include "serving.rule.name" (list (include "serving.fullname" .) $room (printf "Grove has 45 characters for its three names, less 7 for g and worker and %d for %s" (len $size) $size)) }}
{{- include "serving.rule.plainRollout" (list . "on stack grove a change replaces one group after the other") }}
{{- include "serving.rule.supervisor" (list . "stack.name is grove") }}
{{- range $section := list "pod" "leader" "worker" }}
{{- if (get $.Values $section | default dict).topologySpreadConstraints }}
STK015 {{ $section }}.topologySpreadConstraints is set, but Grove refuses it; use topology, or {{ $section }}.affinity
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.stack.grove.warnings: what works on this stack, but costs something. Context: root. Gives lines. */}}
{{- define "serving.stack.grove.warnings" -}}
{{- end }}
