{{- /* The contract: the LOCKSTEP_* variables of every engine container, the same on every stack.
       files/launch/lib/contract.sh refuses to start without them. */}}

{{- /* serving.contract: the whole contract, in an order in which $(NAME) refers backwards. Context: root. */}}
{{- define "serving.contract" -}}
{{- include "serving.contract.pod" . }}
{{- include (printf "serving.stack.%s.contract" .Values.stack.name) . | nindent 0 }}
{{- include "serving.contract.model" . | nindent 0 }}
{{- include "serving.contract.layout" . | nindent 0 }}
{{- include "serving.contract.lifecycle" . | nindent 0 }}
{{- include "serving.contract.supervisor" . | nindent 0 }}
{{- include (printf "serving.engine.%s.contract" .Values.engine.name) . | nindent 0 }}
{{- end }}

{{- /* serving.contract.pod: who this pod is. Context: root. */}}
{{- define "serving.contract.pod" -}}
- {name: LOCKSTEP_POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: LOCKSTEP_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: LOCKSTEP_POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
{{- end }}

{{- /* serving.contract.model: what to serve. Context: root. */}}
{{- define "serving.contract.model" -}}
{{- $model := .Values.model -}}
- {name: LOCKSTEP_ENGINE, value: {{ .Values.engine.name }}}
- {name: LOCKSTEP_MODEL, value: {{ include "serving.modelReference" . | quote }}}
- {name: LOCKSTEP_SERVED_NAME, value: {{ $model.servedName | default $model.id | quote }}}
{{- with $model.revision }}
- {name: LOCKSTEP_REVISION, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{- /* serving.contract.layout: GPUs, ranks and ports. Context: root. */}}
{{- define "serving.contract.layout" -}}
{{- $layout := .known.layout }}
{{- $ports := .known.ports -}}
- {name: LOCKSTEP_GPUS_PER_NODE, value: {{ $layout.gpusPerNode | quote }}}
- {name: LOCKSTEP_TENSOR, value: {{ $layout.tensor | quote }}}
- {name: LOCKSTEP_PIPELINE, value: {{ $layout.pipeline | quote }}}
- {name: LOCKSTEP_DATA, value: {{ $layout.data | quote }}}
- {name: LOCKSTEP_CONTEXT, value: {{ $layout.context | quote }}}
- {name: LOCKSTEP_EXPERT, value: {{ $layout.expert | quote }}}
- {name: LOCKSTEP_LOAD_BALANCING, value: {{ $layout.loadBalancing }}}
- {name: LOCKSTEP_PORT, value: {{ $ports.http | quote }}}
- {name: LOCKSTEP_STATUS_PORT, value: {{ $ports.status | quote }}}
- {name: LOCKSTEP_MEMBERSHIP_PORT, value: {{ $ports.membership | quote }}}
- {name: LOCKSTEP_MASTER_PORT, value: {{ $ports.master | quote }}}
{{- with (.Values.network).interface }}
- {name: LOCKSTEP_INTERFACE, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{- /* serving.contract.lifecycle: times and hooks. Context: root. */}}
{{- define "serving.contract.lifecycle" -}}
- {name: LOCKSTEP_STARTUP_SECONDS, value: {{ int .Values.startup.seconds | quote }}}
- {name: LOCKSTEP_DRAIN_SECONDS, value: {{ int .Values.drain.seconds | quote }}}
- {name: LOCKSTEP_PROPAGATION_SECONDS, value: {{ int .Values.drain.propagationSeconds | quote }}}
{{- with (.Values.hooks).preLaunch }}
- name: LOCKSTEP_PRELAUNCH
  value: {{ include "serving.literal" (toRawJson .) | toJson }}
{{- end }}
{{- end }}

{{- /* serving.contract.supervisor: how the group is watched. Context: root. */}}
{{- define "serving.contract.supervisor" -}}
{{- $supervisor := .Values.supervisor -}}
- {name: LOCKSTEP_SUPERVISOR, value: {{ $supervisor.enabled | quote }}}
- {name: LOCKSTEP_HEARTBEAT_SECONDS, value: {{ int $supervisor.heartbeatSeconds | quote }}}
- {name: LOCKSTEP_DEADLINE_SECONDS, value: {{ int $supervisor.deadlineSeconds | quote }}}
- {name: LOCKSTEP_MAX_RESTARTS, value: {{ int $supervisor.maxRestarts | quote }}}
- {name: LOCKSTEP_STABLE_SECONDS, value: {{ int $supervisor.stableSeconds | quote }}}
- {name: LOCKSTEP_STALL_SECONDS, value: {{ int $supervisor.stallSeconds | quote }}}
{{- with $supervisor.tokenSecret }}
- {name: LOCKSTEP_GROUP_TOKEN, valueFrom: {{ include "serving.secretKeyRef" . }}}
{{- end }}
{{- end }}
