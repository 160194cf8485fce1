{{- /* What works, but costs something. NOTES.txt shows it; `lockstep check` says it before anything is applied. */}}

{{- /* serving.warnings: lines that begin with a code. Context: root. */}}
{{- define "serving.warnings" -}}
{{- $layout := .known.layout }}
{{- $rollout := include "serving.rollout" . | fromJson }}
{{- $replicas := $rollout.replicas | int }}
{{- $security := include "serving.containerSecurity" . | fromJson }}
{{- $device := include "serving.engine.device" . | fromJson }}
{{- if and $device.fabric (gt $layout.tensor $layout.gpusPerNode) }}
PAR010 tensor {{ $layout.tensor }} spans nodes of {{ $layout.gpusPerNode }} {{ .Values.group.resourceName }}: every layer waits for the network, which must be {{ $device.fabric }}
{{- else if and (gt $layout.tensor $layout.gpusPerNode) (not (.Values.network).rdma) }}
PAR010 tensor {{ $layout.tensor }} spans nodes of {{ $layout.gpusPerNode }} GPUs: every layer waits for the network; name the fast fabric with network.rdma, or set tensor: {{ $layout.gpusPerNode }} with pipeline: {{ $layout.nodes }}
{{- end }}
{{- if and $device.pipelineNeedsPatch (gt $layout.pipeline 1.0) }}
PAR015 pipeline {{ $layout.pipeline }} on {{ .Values.group.resourceName }} rests on what hooks.preLaunch does to the engine: it must fail when the engine is not the one it was written for
{{- end }}
{{- if and (eq .Values.weights.source "hub") (not ((.Values.pod).volumes).cache) }}
OPS010 every new pod downloads the whole model from the hub; use weights.source pvc or hostPath, or keep the cache with pod.volumes.cache
{{- end }}
{{- if and (eq $replicas 1) (not (gt (int $rollout.surge) 0)) }}
OPS011 one replica: an upgrade means downtime of a model load; a second replica avoids it, or (on stack deployment) rollout.maxSurge: 1 with spare nodes
{{- end }}
{{- if and (gt $rollout.most 1.0) (gt $layout.nodes 1.0) (eq (include "serving.queue.manager" .) "none") }}
STK007 {{ $rollout.most }} groups of {{ $layout.nodes }} pods without gang scheduling: with too few nodes all may get a part and none all of it
{{- end }}
{{- include (printf "serving.stack.%s.warnings" .Values.stack.name) . }}
{{- if has "IPC_LOCK" (($security.capabilities | default dict).add | default list) }}
SEC001 the engine container adds IPC_LOCK, so its namespace needs the Pod Security level privileged
{{- end }}
{{- if eq .Values.weights.source "hostPath" }}
SEC002 weights on a host path, so the namespace needs the Pod Security level privileged
{{- end }}
{{- end }}
