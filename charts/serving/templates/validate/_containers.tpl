{{- /* Rules of the pod as Kubernetes gets it: the containers beside the engine, and the volumes that are mounted. */}}

{{- /* serving.rules.pods: the rules below for the pod of each role. Context: root. Gives lines, some twice. */}}
{{- define "serving.rules.pods" -}}
{{- range $role := gt (int .Values.group.nodes) 1 | ternary (list "leader" "worker") (list "leader") }}
{{- $context := dict "root" $ "role" $role "pod" (include "serving.pod" (dict "root" $ "role" $role) | fromJson) }}
{{- include "serving.rule.volumes" $context }}
{{- range $field := list "initContainers" "sidecars" }}
{{- range $name, $container := get $context.pod $field | default dict }}
{{- $path := include "serving.givenAt" (list $context $field $name) }}
{{- if and (eq $field "sidecars") (hasKey ($context.pod.initContainers | default dict) $name) }}
OPS007 {{ $path }} has the name of an init container, but the names of a pod's containers are all different; rename one of them
{{- end }}
{{- include "serving.rule.container" (list $context $path $container) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.givenAt: the values path of an entry: the role's where it has the entry. Context: list of dict root, role
       and of the field and the entry's name. */}}
{{- define "serving.givenAt" -}}
{{- $context := first . }}
{{- $own := get (get $context.root.Values $context.role | default dict) (index . 1) | default dict }}
{{- printf "%s.%s.%s" (hasKey $own (last .) | ternary $context.role "pod") (index . 1) (last .) }}
{{- end }}

{{- /* serving.rule.volumes: one source a volume, and a volume for each mount of the engine. Context: dict root, role,
       pod. Gives lines. */}}
{{- define "serving.rule.volumes" -}}
{{- range $name, $volume := .pod.volumes }}
{{- $sources := include "serving.overlay" (list $volume) | fromJson | keys | sortAlpha }}
{{- if gt (len $sources) 1 }}
OPS008 {{ include "serving.givenAt" (list $ "volumes" $name) }} has {{ len $sources }} sources ({{ join ", " $sources }}), but a volume has one; set the others to null
{{- end }}
{{- end }}
{{- range $path, $mount := .pod.volumeMounts }}
{{- include "serving.rule.mount" (list $ (include "serving.givenAt" (list $ "volumeMounts" $path)) $mount.name) }}
{{- end }}
{{- end }}

{{- /* serving.rule.mount: the volume of a mount exists. Context: list of dict root, role, pod, of the values path and the
       volume's name. Gives a line. */}}
{{- define "serving.rule.mount" -}}
{{- $context := first . }}
{{- $there := keys $context.root.known.fixed ($context.pod.volumes | default dict) }}
{{- if not (has (toString (last .)) (concat $there (list "tmp" "home" "cache"))) }}
OPS008 {{ index . 1 }} mounts the volume {{ last . }}, but neither the chart nor pod.volumes has it; add it to pod.volumes
{{- end }}
{{- end }}

{{- /* serving.rule.container: a container beside the engine has no GPUs and mounts what exists. Context: list of dict
       root, role, pod, of the values path and the container. Gives lines. */}}
{{- define "serving.rule.container" -}}
{{- $path := index . 1 }}
{{- $container := last . }}
{{- $resource := (first .).root.Values.group.resourceName }}
{{- range $kind := list "limits" "requests" }}
{{- $asked := include "serving.scalar" (get (get ($container.resources | default dict) $kind | default dict) $resource) }}
{{- if not (has $asked (list "" "0")) }}
OPS001 {{ $path }}.resources.{{ $kind }} asks for {{ $asked }} {{ $resource }}, but the GPUs of a node belong to its engine; remove it, and run what needs GPUs before the engine in hooks.preLaunch
{{- end }}
{{- end }}
{{- range $mount := $container.volumeMounts }}
{{- include "serving.rule.mount" (list (first $) (printf "%s.volumeMounts" $path) $mount.name) }}
{{- end }}
{{- end }}
