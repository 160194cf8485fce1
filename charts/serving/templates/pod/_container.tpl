{{- /* The engine container and its neighbours. */}}

{{- /* serving.container: the engine container. Context: dict root, role, pod. */}}
{{- define "serving.container" -}}
- name: engine
  image: {{ include "serving.engine.image" .root | quote }}
  {{- with (.root.Values.engine.image).pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  {{- include "serving.command" . | nindent 2 }}
  env:
    {{- include "serving.env" .root | nindent 4 }}
  ports:
    {{- range $name, $port := .root.known.ports }}
    - {name: {{ $name }}, containerPort: {{ $port }}, protocol: TCP}
    {{- end }}
  {{- include "serving.probes" . | trim | nindent 2 }}
  {{- include "serving.lifecycle" . }}
  resources:
    {{- include "serving.resources" . | trim | nindent 4 }}
  {{- with include "serving.yaml" (include "serving.containerSecurity" .root | fromJson) }}
  securityContext:
    {{- . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "serving.volumeMounts" . | trim | nindent 4 }}
{{- end }}

{{- /* serving.lifecycle: what comes before TERM where no supervisor drains: who serves waits until no new requests come,
       any other rank until its leader has served the last one. Context: dict root, role. */}}
{{- define "serving.lifecycle" -}}
{{- $wait := list "bash" "/lockstep/launch.sh" "outlast" }}
{{- if include "serving.serves" . }}
{{- $wait = list "sleep" (int .root.Values.drain.propagationSeconds | toString) }}
{{- end }}
{{- if not .root.Values.supervisor.enabled }}
  lifecycle:
    preStop: {exec: {command: {{ toJson $wait }}}}
{{- end }}
{{- end }}

{{- /* serving.command: the launch script and the engine's arguments, behind variables that the stack can set nowhere
       else. Context: dict root, role. */}}
{{- define "serving.command" -}}
command:
  {{- with include (printf "serving.stack.%s.references" .root.Values.stack.name) . }}
  - env
  {{- . | nindent 2 }}
  {{- end }}
  - bash
  - /lockstep/launch.sh
{{- with include "serving.engine.args" .root | trim }}
args:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* serving.containers: the user's containers as a list, in the order of their names. Context: list of the map. */}}
{{- define "serving.containers" -}}
{{- $containers := list }}
{{- range $name, $container := first . }}
{{- if $container }}
{{- $copy := set (deepCopy $container) "name" $name }}
{{- include "serving.writeOut" $copy }}
{{- $containers = append $containers $copy }}
{{- end }}
{{- end }}
{{- include "serving.yaml" $containers }}
{{- end }}

{{- /* serving.writeOut: write into a container of the user's what a webhook that reads and writes it whole would add or
       rewrite: resources, protocols, quantities. Context: the container, which is changed. Gives nothing. */}}
{{- define "serving.writeOut" -}}
{{- $resources := .resources | default dict }}
{{- range $kind, $quantities := pick $resources "limits" "requests" }}
{{- $_ := set $resources $kind (include "serving.quantities" $quantities | fromJson) }}
{{- end }}
{{- range $port := .ports }}
{{- $_ := set $port "protocol" ($port.protocol | default "TCP") }}
{{- end }}
{{- $_ := set . "resources" $resources }}
{{- end }}

{{- /* serving.resources: the user's requests and limits, with the devices in both. Context: dict root, role, pod. */}}
{{- define "serving.resources" -}}
{{- $devices := dict .root.Values.group.resourceName .root.Values.group.gpusPerNode }}
{{- with (.root.Values.network).rdma }}
{{- $_ := set $devices .resource .count }}
{{- end }}
{{- $common := .root.Values.resources | default dict }}
{{- $own := .pod.resources | default dict }}
{{- range $kind := list "limits" "requests" }}
{{- $quantities := include "serving.overlay" (list (get $common $kind | default dict) (get $own $kind | default dict) $devices) | fromJson }}
{{ $kind }}:
  {{- range $name, $quantity := $quantities }}
  {{ $name }}: {{ include "serving.quantity" $quantity | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* serving.containerSecurity: SecurityContext of the engine container. RDMA pins memory, which takes IPC_LOCK.
       Context: root. Gives JSON. */}}
{{- define "serving.containerSecurity" -}}
{{- $context := deepCopy ((.Values.security).container | default dict) }}
{{- if (.Values.network).rdma }}
{{- $capabilities := $context.capabilities | default dict }}
{{- $added := append ($capabilities.add | default list) "IPC_LOCK" | uniq }}
{{- $_ := set $context "capabilities" (set $capabilities "add" $added) }}
{{- end }}
{{- toJson $context }}
{{- end }}
