{{- /* Stack kueue: a StatefulSet for each group, admitted whole by Kueue. Facts: kubernetes-sigs/kueue v0.17 to v0.19. */}}

{{- /* serving.stack.kueue.queues: managers that fit, the default first. Context: root. */}}
{{- define "serving.stack.kueue.queues" -}}
kueue
{{- end }}

{{- /* serving.stack.kueue.leader: one template makes all ranks, so only the number of the pod tells them apart.
       Context: root. */}}
{{- define "serving.stack.kueue.leader" -}}
{{- include "serving.selector" . }}
apps.kubernetes.io/pod-index: "0"
{{- end }}

{{- /* serving.stack.kueue.role: the role of the one template. Context: root. */}}
{{- define "serving.stack.kueue.role" -}}
{{- gt (int .Values.group.nodes) 1 | ternary "member" "leader" }}
{{- end }}

{{- /* serving.stack.kueue.revision: a hash of everything in a group that Kubernetes or Kueue would not let change, or
       would change pod by pod: a StatefulSet replaces one pod and waits until it is Ready, but a rank of another
       revision never is in a group of the old one. So a change makes new sets and removes the old ones.
       Context: root. */}}
{{- define "serving.stack.kueue.revision" -}}
{{- $role := include "serving.stack.kueue.role" . }}
{{- $template := include "serving.podTemplate" (dict "root" . "role" $role) }}
{{- $marks := include "serving.queue.marks" (dict "root" . "role" $role) }}
{{- printf "%d %s %s" (int .Values.group.nodes) $marks $template | sha256sum | trunc 6 }}
{{- end }}

{{- /* serving.stack.kueue.suffix: what the name carries besides: nothing that all groups share. Context: root. */}}
{{- define "serving.stack.kueue.suffix" -}}
{{- end }}

{{- /* serving.stack.kueue.contract: the number of the pod is the rank. Context: root. */}}
{{- define "serving.stack.kueue.contract" -}}
- {name: LOCKSTEP_SET, valueFrom: {fieldRef: {fieldPath: "metadata.labels['lockstep/group']"}}}
- {name: LOCKSTEP_GROUP, value: {{ .Release.Namespace }}/$(LOCKSTEP_SET)}
- {name: LOCKSTEP_NODE_RANK, valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}}
- {name: LOCKSTEP_NODE_COUNT, value: {{ int .Values.group.nodes | quote }}}
- {name: LOCKSTEP_LEADER_ADDRESS, value: $(LOCKSTEP_SET)-0.{{ include "serving.fullname" . }}-peers.{{ .Release.Namespace }}}
{{- end }}

{{- /* serving.stack.kueue.references: variables that only the command could refer to: none. Context: dict root, role. */}}
{{- define "serving.stack.kueue.references" -}}
{{- end }}

{{- /* serving.stack.kueue.peers: names under which the pods of all groups are found. Context: root. */}}
{{- define "serving.stack.kueue.peers" -}}
{{- include "serving.fullname" . }}-peers
{{- end }}

{{- /* serving.stack.kueue.scaled: what an autoscaler scales: nothing. Context: root. Gives YAML. */}}
{{- define "serving.stack.kueue.scaled" -}}
{{- end }}

{{- /* serving.stack.kueue.rules: what this stack cannot do. Context: root. Gives lines. */}}
{{- define "serving.stack.kueue.rules" -}}
{{- $last := sub (max 1 (int .Values.replicas)) 1 | toString }}
{{- $room := sub 37 (len $last) | int }}
{{- include "serving.rule.name" (list (include "serving.fullname" .) $room (printf "Kueue labels pods statefulset-<name>-<group>-<revision>-<hash>: 63 characters less 26 for the rest and %d for group %s" (len $last) $last)) }}
{{- include "serving.rule.plainRollout" (list . "on stack kueue a change replaces all groups together") }}
{{- include "serving.rule.supervisor" (list . "stack.name is kueue") }}
{{- if gt (int .Values.group.nodes) 1 }}
{{- range $role := list "leader" "worker" }}
{{- if include "serving.overlay" (list (get $.Values $role)) | fromJson }}
STK013 {{ $role }} is set, but on stack kueue one template makes all {{ int $.Values.group.nodes }} pods of a group; move it to pod, or set stack.name: lws
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.stack.kueue.warnings: what works on this stack, but costs something. Context: root. Gives lines. */}}
{{- define "serving.stack.kueue.warnings" -}}
{{- if gt (int .Values.replicas) 1 }}
STK012 an upgrade replaces all {{ int .Values.replicas }} groups together, which means downtime of a model load; split them over several releases, or set stack.name: lws
{{- end }}
{{- end }}
