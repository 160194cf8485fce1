{{- /* Rules of the pod. */}}

{{- /* serving.rules.devices: one number of GPUs, RDMA devices that are others, and /dev/shm large enough, inside the memory limit. Context: root. Gives lines. */}}
{{- define "serving.rules.devices" -}}
{{- $group := .Values.group }}
{{- $shm := .Values.sharedMemory.size }}
{{- range $path, $resources := dict "resources" .Values.resources "leader.resources" (.Values.leader).resources "worker.resources" (.Values.worker).resources }}
{{- range $kind := list "limits" "requests" }}
{{- with include "serving.scalar" (get (get ($resources | default dict) $kind | default dict) $group.resourceName) }}
{{- if ne (include "serving.bytes" . | float64) (float64 $group.gpusPerNode) }}
OPS001 {{ $path }}.{{ $kind }} asks for {{ . }} {{ $group.resourceName }}, but group.gpusPerNode is {{ int $group.gpusPerNode }}; remove it from {{ $path }}, it follows from group.gpusPerNode
{{- end }}
{{- end }}
{{- end }}
{{- with (($resources | default dict).limits | default dict).memory }}
{{- if ge (include "serving.bytes" $shm | float64) (include "serving.bytes" . | float64) }}
OPS002 sharedMemory.size is {{ include "serving.scalar" $shm }}, but {{ $path }}.limits.memory is {{ include "serving.scalar" . }} and /dev/shm counts against it; lower sharedMemory.size or raise the limit
{{- end }}
{{- end }}
{{- end }}
{{- if and (gt (int $group.gpusPerNode) 1) (le (include "serving.bytes" $shm | float64) 67108864.0) }}
OPS017 sharedMemory.size is {{ include "serving.scalar" $shm }}, no more than the 64Mi that any container has, and the {{ int $group.gpusPerNode }} ranks of a pod share it: NCCL and torch cannot create their segments; set some GiB
{{- end }}
{{- if eq (((.Values.network).rdma).resource | default "") $group.resourceName }}
NET002 network.rdma.resource is {{ $group.resourceName }}, which is group.resourceName: its count would stand in place of the GPUs; name the resource of the RDMA devices
{{- end }}
{{- end }}

{{- /* serving.rules.volumes: paths and volume names of the chart. Context: root. Gives lines. */}}
{{- define "serving.rules.volumes" -}}
{{- $owned := .known.owned }}
{{- range $section := list "pod" "leader" "worker" }}
{{- $pod := get $.Values $section | default dict }}
{{- range $path, $_ := $pod.volumeMounts }}
{{- with get $owned.mounts $path }}
OPS003 {{ $section }}.volumeMounts.{{ $path }}: the chart mounts its volume {{ . }} there; choose another path{{ if has . (list "tmp" "home" "cache") }}, or replace the volume with {{ $section }}.volumes.{{ . }}{{ end }}
{{- end }}
{{- end }}
{{- range $name, $_ := $pod.volumes }}
{{- with get $owned.volumes $name }}
OPS003 {{ $section }}.volumes.{{ $name }} is the name of a volume of the chart; {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rules.probes: one handler a probe, and no HTTP where nothing answers. Context: root. Gives lines. */}}
{{- define "serving.rules.probes" -}}
{{- $http := .known.ports.http | toString }}
{{- range $section := list "pod" "leader" "worker" }}
{{- range $kind, $probe := (get $.Values $section | default dict).probes | default dict }}
{{- $handlers := list }}
{{- $asked := "" }}
{{- range $handler := list "exec" "grpc" "httpGet" "tcpSocket" }}
{{- with get ($probe | default dict) $handler }}
{{- $handlers = append $handlers $handler }}
{{- if has (toString .port) (list "http" $http) }}
{{- $asked = toString .port }}
{{- end }}
{{- end }}
{{- end }}
{{- if gt (len $handlers) 1 }}
OPS004 {{ $section }}.probes.{{ $kind }} has {{ len $handlers }} handlers ({{ join ", " $handlers }}), but a probe has one; set the others to null
{{- end }}
{{- if and (ne $section "leader") (gt (int $.Values.group.nodes) 1) (not (include "serving.everyPodServes" $)) $asked }}
OPS004 {{ $section }}.probes.{{ $kind }} asks the engine's port {{ $asked }} on the worker role, but only the leader serves HTTP; move it to leader.probes.{{ $kind }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rules.weights: what a source of weights needs. Context: root. Gives lines. */}}
{{- define "serving.rules.weights" -}}
{{- $weights := .Values.weights }}
{{- $needs := get (dict "hub" list "pvc" (list "claim") "hostPath" (list "path")) $weights.source }}
{{- $takes := get (dict "hub" (list "tokenSecret") "pvc" (list "claim" "path") "hostPath" (list "path")) $weights.source }}
{{- range $key := $needs }}
{{- if not (get $weights $key) }}
OPS005 weights.source is {{ $weights.source }}, but weights.{{ $key }} is not set; set it
{{- end }}
{{- end }}
{{- range $key, $value := omit $weights "source" }}
{{- if and $value (not (has $key $takes)) }}
OPS005 weights.{{ $key }} is set, but has no meaning with weights.source {{ $weights.source }}; remove it or change the source
{{- end }}
{{- end }}
{{- if and (eq $weights.source "hostPath") $weights.path (not (hasPrefix "/" $weights.path)) }}
OPS005 weights.path is {{ $weights.path }}, but on a node it must be absolute; begin it with /
{{- end }}
{{- if has ".." ($weights.path | default "" | splitList "/") }}
OPS005 weights.path is {{ $weights.path }}, but a path with .. is refused by Kubernetes, or leads out of the claim; write it without ..
{{- end }}
{{- end }}
