{{- /* Stack deployment: groups of one pod. */}}

{{- /* serving.stack.deployment.queues: managers that fit, the default first. Context: root. */}}
{{- define "serving.stack.deployment.queues" -}}
none
{{- end }}

{{- /* serving.stack.deployment.leader: what finds the leaders. Context: root. */}}
{{- define "serving.stack.deployment.leader" -}}
{{- include "serving.roleSelector" (dict "root" . "role" "leader") }}
{{- end }}

{{- /* serving.stack.deployment.suffix: what the name carries besides: nothing. Context: root. */}}
{{- define "serving.stack.deployment.suffix" -}}
{{- end }}

{{- /* serving.stack.deployment.contract: the pod is its own leader. Context: root. */}}
{{- define "serving.stack.deployment.contract" -}}
- {name: LOCKSTEP_GROUP, value: {{ .Release.Namespace }}/$(LOCKSTEP_POD_NAME)}
- {name: LOCKSTEP_NODE_RANK, value: "0"}
- {name: LOCKSTEP_NODE_COUNT, value: "1"}
- {name: LOCKSTEP_LEADER_ADDRESS, value: $(LOCKSTEP_POD_IP)}
{{- end }}

{{- /* serving.stack.deployment.references: variables that only the command could refer to: none. Context: dict root, role. */}}
{{- define "serving.stack.deployment.references" -}}
{{- end }}

{{- /* serving.stack.deployment.peers: names under which the pods of all groups are found: none. Context: root. */}}
{{- define "serving.stack.deployment.peers" -}}
{{- end }}

{{- /* serving.stack.deployment.scaled: what an autoscaler scales. Context: root. Gives YAML. */}}
{{- define "serving.stack.deployment.scaled" -}}
apiVersion: apps/v1
kind: Deployment
name: {{ include "serving.fullname" . | quote }}
{{- end }}

{{- /* serving.stack.deployment.rules: what this stack cannot do. Context: root. Gives lines. */}}
{{- define "serving.stack.deployment.rules" -}}
{{- include "serving.rule.name" (list (include "serving.fullname" .) 59 "63 characters of a Service name less 4 for -api") }}
{{- if gt (int .Values.group.nodes) 1 }}
STK001 group.nodes is {{ int .Values.group.nodes }}, but a Deployment runs each replica as one pod; set stack.name: lws, or group.nodes: 1 with as many GPUs
{{- end }}
{{- if gt (int .Values.rollout.partition) 0 }}
STK006 rollout.partition is {{ int .Values.rollout.partition }}, but a Deployment has no partition; remove it, or set stack.name: lws
{{- end }}
{{- end }}

{{- /* serving.stack.deployment.warnings: what works on this stack, but costs something. Context: root. Gives lines. */}}
{{- define "serving.stack.deployment.warnings" -}}
{{- end }}
