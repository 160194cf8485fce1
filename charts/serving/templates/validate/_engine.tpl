{{- /* Rules of engine.args, engine.argsFor, engine.env and network.env. The tables are in files/engines/ and files/owned.yaml. */}}

{{- /* serving.rules.flags: flags that Lockstep derives, and flags given twice. Context: root. Gives lines. */}}
{{- define "serving.rules.flags" -}}
{{- $facts := .known.engine }}
{{- $seen := dict }}
{{- range $key, $_ := include "serving.engine.givenArgs" . | fromJson }}
{{- $path := include "serving.engine.argPath" (list $ $key) }}
{{- $name := include "serving.engine.flagName" $key }}
{{- $positive := trimPrefix $facts.negation $name }}
{{- if regexMatch "^-[^-]" $key }}
{{- $positive = regexReplaceAll "[0-9]+$" $positive "" }}
{{- end }}
{{- $found := list }}
{{- range $row := $facts.flags }}
{{- if or (has $positive ($row.short | default list)) (and (gt (len $positive) 2) (hasPrefix $positive (replace "_" "-" $row.name))) }}
{{- $found = append $found $row }}
{{- end }}
{{- end }}
{{- with $found }}
ENG001 {{ $path }} sets --{{ (first .).name }}, which Lockstep derives; remove it, and use {{ (first .).use }}
{{- end }}
{{- with get $seen $name }}
ENG004 {{ $path }} and {{ . }} are one flag; remove one of them
{{- end }}
{{- $_ := set $seen $name $path }}
{{- end }}
{{- end }}

{{- /* serving.rules.variables: owned variables and an impossible interface. Context: root. Gives lines. */}}
{{- define "serving.rules.variables" -}}
{{- $facts := .known.engine }}
{{- $owned := concat .known.owned.env $facts.env }}
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
{{- end }}

{{- /* serving.rules.references: $(NAME) of a variable that the stack sets only in the command, or behind all others, stays
       as it is written. Context: root. Gives lines. */}}
{{- define "serving.rules.references" -}}
{{- $late := include (printf "serving.stack.%s.references" .Values.stack.name) (dict "root" . "role" "leader") }}
{{- range $path, $variables := dict "engine.env" .Values.engine.env "network.env" (.Values.network).env }}
{{- range $name, $value := include "serving.overlay" (list $variables) | fromJson }}
{{- range $reference := regexFindAll "[$][$]|[$][(]\\w+[)]" (kindIs "string" $value | ternary $value "") -1 | uniq }}
{{- $referred := regexFind "\\w+" $reference }}
{{- if and $referred (or (hasPrefix "GROVE_" $referred) (contains (printf "- %s=" $referred) $late)) }}
ENG014 {{ $path }}.{{ $name }} refers to {{ $reference }}, which stack {{ $.Values.stack.name }} does not set before it, so the text would stay as it is; let the program that needs it read its own variable LOCKSTEP_*, or choose another stack
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rules.changes: flags that the version does not have. Context: root. Gives lines. */}}
{{- define "serving.rules.changes" -}}
{{- $facts := .known.engine }}
{{- $engine := printf "%s %s" .Values.engine.name (include "serving.engine.version" .) }}
{{- $numbers := include "serving.engine.numbers" . }}
{{- range $key, $_ := include "serving.engine.givenArgs" . | fromJson }}
{{- $path := include "serving.engine.argPath" (list $ $key) }}
{{- $name := include "serving.engine.flagName" $key | trimPrefix $facts.negation }}
{{- range $row := $facts.changes }}
{{- if eq $name (replace "_" "-" $row.name) }}
{{- if not (or $row.gone $row.since) }}
ENG007 {{ $path }}: --{{ $row.name }} is no flag of {{ $.Values.engine.name }}; use {{ $row.use }}
{{- else if and $row.gone (semverCompare (printf ">= %s" ($row.gone | default "0.0.0")) $numbers) }}
ENG007 {{ $path }}: {{ $engine }} has no --{{ $name }}; it is gone in {{ $row.gone }}; use {{ $row.use }}
{{- else if and $row.since (semverCompare (printf "< %s" ($row.since | default "0.0.0")) $numbers) }}
ENG007 {{ $path }}: {{ $engine }} has no --{{ $name }} yet; it came with {{ $row.since }}; raise engine.version, or remove the flag
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rules.versions: an engine too old for several nodes, a tag of another version. Context: root. Gives lines. */}}
{{- define "serving.rules.versions" -}}
{{- $since := .known.engine.multiNodeSince }}
{{- $version := include "serving.engine.version" . }}
{{- $numbers := include "serving.engine.numbers" . }}
{{- if and (gt (int .Values.group.nodes) 1) (ne (.Values.engine.executor | default "mp") "ray") (semverCompare (printf "< %s" $since) $numbers) }}
ENG003 engine.version is {{ $version }} and group.nodes {{ int .Values.group.nodes }}, but Lockstep spans nodes with {{ .Values.engine.name }} only from {{ $since }} on; raise engine.version
{{- end }}
{{- $tag := (.Values.engine.image).tag | default "" }}
{{- $tagged := regexFindAll "[0-9]+[.][0-9]+[.][0-9]+" $tag -1 }}
{{- if and $tagged (not (has $numbers $tagged)) }}
ENG008 engine.image.tag is {{ $tag }}, but the flags are checked for {{ .Values.engine.name }} {{ $version }}; set engine.version to the version in the image
{{- end }}
{{- end }}

{{- /* serving.rules.abilities: settings that the engine has not, or has to have. Context: root. Gives lines. */}}
{{- define "serving.rules.abilities" -}}
{{- $facts := .known.engine }}
{{- $layout := .known.layout }}
{{- $name := .Values.engine.name }}
{{- $ssh := and $facts.ssh (gt $layout.nodes 1.0) }}
{{- range $factor := list "tensor" "pipeline" "data" "context" }}
{{- if and (gt (get $layout $factor) 1.0) (not (has $factor $facts.factors)) }}
PAR013 parallelism.{{ $factor }} is {{ get $layout $factor }}, but Lockstep lays {{ $name }} out by {{ join ", " $facts.factors }} alone; set parallelism.{{ $factor }}: 1
{{- end }}
{{- end }}
{{- if not (has $layout.loadBalancing $facts.balancing) }}
PAR012 parallelism.loadBalancing is {{ $layout.loadBalancing }}, but of {{ $name }} only the leader serves HTTP; remove it
{{- end }}
{{- if and .Values.engine.executor (not (has .Values.engine.executor $facts.executors)) }}
ENG005 engine.executor is {{ .Values.engine.executor }}, but {{ $name }} has no choice of executors; remove it
{{- end }}
{{- if and .Values.engine.sshSecret (not $ssh) }}
ENG005 engine.sshSecret is set, but {{ $name }} on {{ $layout.nodes }} node{{ if gt $layout.nodes 1.0 }}s{{ end }} needs no ssh; remove it
{{- else if and $ssh (not .Values.engine.sshSecret) }}
ENG009 engine.sshSecret is not set, but {{ $name }} spans group.nodes {{ $layout.nodes }} by ssh between the pods; make a Secret of type kubernetes.io/ssh-auth and set engine.sshSecret.name to it
{{- end }}
{{- if not (or (.Values.engine.image).repository (include "serving.engine.repository" .)) }}
ENG006 engine.image.repository is not set, and {{ $name }} has no image of its own that runs on {{ .Values.group.resourceName }}; set engine.image.repository and engine.version to an image that does
{{- end }}
{{- end }}
