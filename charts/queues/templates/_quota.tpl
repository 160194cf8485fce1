{{- /* From nodes to resources. */}}

{{- /* queues.labels: of every object. Context: root. */}}
{{- define "queues.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* queues.perNode: what one node of a pool has, as numbers by resource. Context: the pool. Gives JSON. */}}
{{- define "queues.perNode" -}}
{{- $each := dict "cpu" .cpusPerNode "memory" .memoryGiBPerNode (.resourceName | default "nvidia.com/gpu") .gpusPerNode }}
{{- merge $each (.devicesPerNode | default dict) | toJson }}
{{- end }}

{{- /* queues.resources: every resource of the pools of a queue, sorted. Context: dict root, queue. Gives JSON. */}}
{{- define "queues.resources" -}}
{{- $names := list }}
{{- range $pool, $_ := .queue.nodes }}
{{- $names = concat $names (include "queues.perNode" (get $.root.Values.pools $pool) | fromJson | keys) }}
{{- end }}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}

{{- /* queues.quota: so many nodes of a pool in one resource, as Kubernetes stores it: in the largest unit of which it is a
       whole number. Context: dict pool, resource, nodes. */}}
{{- define "queues.quota" -}}
{{- $amount := mul (get (include "queues.perNode" .pool | fromJson) .resource | default 0) .nodes }}
{{- $base := eq .resource "memory" | ternary 1024 1000 }}
{{- $units := eq .resource "memory" | ternary (list "Gi" "Ti" "Pi") (list "" "k" "M" "G" "T") }}
{{- $unit := 0 }}
{{- range untilStep 1 (len $units) 1 }}
{{- if and (eq $unit (sub . 1 | int)) (gt $amount 0) (eq 0 (mod $amount $base | int)) }}
{{- $amount = div $amount $base }}
{{- $unit = . }}
{{- end }}
{{- end }}
{{- printf "%d%s" $amount (gt $amount 0 | ternary (index $units $unit) "") | quote }}
{{- end }}

{{- /* queues.gpus: GPUs of a queue. Context: dict root, queue, extra: nodes of each pool beyond its own. */}}
{{- define "queues.gpus" -}}
{{- $gpus := 0 }}
{{- range $pool, $nodes := .queue.nodes }}
{{- $gpus = add $gpus (mul (get $.root.Values.pools $pool).gpusPerNode (add $nodes $.extra)) }}
{{- end }}
{{- $gpus }}
{{- end }}

{{- /* queues.validate: refuse nodes of a pool that is not described. Context: root. */}}
{{- define "queues.validate" -}}
{{- range $name, $queue := .Values.queues }}
{{- range $pool, $_ := $queue.nodes }}
{{- if not (hasKey $.Values.pools $pool) }}
{{- fail (printf "queues.%s.nodes names the pool %s, but pools has %s; describe it there" $name $pool (keys $.Values.pools | sortAlpha | join ", ")) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
