{{- /* Rules of engine.args, engine.env and network.env. The tables are files/engines.yaml and files/owned.yaml. */}}

{{- /* serving.rules.flags: flags that Lockstep derives, and flags given twice. Context: root. Gives lines. */}}
{{- define "serving.rules.flags" -}}
{{- $facts := include "serving.engine.facts" . | fromJson }}
{{- $seen := dict }}
{{- range $key, $_ := include "serving.overlay" (list .Values.engine.args) | fromJson }}
{{- $name := include "serving.engine.flagName" $key }}
{{- $positive := trimPrefix $facts.negation $name }}
{{- $found := list }}
{{- range $row := $facts.flags }}
{{- if or (has $positive ($row.short | default list)) (and (gt (len $positive) 2) (hasPrefix $positive $row.name)) }}
{{- $found = append $found $row }}
{{- end }}
{{- end }}
{{- with $found }}
ENG001 engine.args.{{ $key }} sets --{{ (first .).name }}, which Lockstep derives; remove it, and use {{ (first .).use }}
{{- end }}
{{- with get $seen $name }}
ENG004 engine.args sets one flag twice, as {{ . }} and as {{ $key }}; remove one of them
{{- end }}
{{- $_ := set $seen $name $key }}
{{- end }}
{{- end }}

{{- /* serving.rules.variables: owned variables, an impossible interface and an engine too old. Context: root.
       Gives lines. */}}
{{- define "serving.rules.variables" -}}
{{- $facts := include "serving.engine.facts" . | fromJson }}
{{- $version := include "serving.engine.version" . }}
{{- $owned := concat (include "serving.owned" . | fromYaml).env $facts.env }}
{{- range $path, $variables := dict "engine.env" .Values.engine.env "network.env" (.Values.network).env }}
{{- range $name, $value := include "serving.overlay" (list $variables) | fromJson }}
{{- range $row := $owned }}
{{- if or (eq $name $row.name) (and (hasSuffix "_" $row.name) (hasPrefix $row.name $name)) }}
ENG002 {{ $path }}.{{ $name }} is not for the values to set; remove it, and use {{ $row.use }}
{{- end }}
{{- end }}
{{- if and (eq $name "GLOO_SOCKET_IFNAME") (kindIs "string" $value) (not (regexMatch "^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$" $value)) }}
NET001 {{ $path }}.GLOO_SOCKET_IFNAME is {{ $value | quote }}, but Gloo takes the name of one interface, no list and no exclusion; set network.interface to it, or leave both out and the pod's own is found
{{- end }}
{{- end }}
{{- end }}
{{- if and (gt (int .Values.group.nodes) 1) (semverCompare (printf "< %s" $facts.multiNodeSince) (regexFind "^[0-9.]*[0-9]" $version)) }}
ENG003 engine.version is {{ $version }} and group.nodes {{ int .Values.group.nodes }}, but {{ .Values.engine.name }} spans nodes only from {{ $facts.multiNodeSince }} on; raise engine.version
{{- end }}
{{- end }}
