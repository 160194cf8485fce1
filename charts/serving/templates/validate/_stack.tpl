{{- /* Rules that hold on every stack. A stack's own are in stack/_<stack>.tpl. */}}

{{- /* serving.rules.stack: settings that nothing reads, and a rollout that cannot move. Context: root. Gives lines. */}}
{{- define "serving.rules.stack" -}}
{{- range $block, $given := omit .Values.stack "name" }}
{{- if and $given (ne $block $.Values.stack.name) }}
STK006 stack.{{ $block }} is set, but stack.name is {{ $.Values.stack.name }}; remove the block
{{- end }}
{{- end }}
{{- if and (eq (int .Values.group.nodes) 1) (include "serving.overlay" (list .Values.worker) | fromJson) }}
STK006 worker is set, but with group.nodes 1 there is no worker; move it to pod, or remove it
{{- end }}
{{- $rollout := include "serving.rollout" . | fromJson }}
{{- if and (gt $rollout.replicas 0.0) (eq (addf $rollout.unavailable $rollout.surge) 0.0) }}
STK003 rollout: with replicas {{ $rollout.replicas }}, maxUnavailable {{ .Values.rollout.maxUnavailable }} and maxSurge {{ .Values.rollout.maxSurge }} both come to 0 groups, so no upgrade can begin; set rollout.maxUnavailable: 1
{{- end }}
{{- end }}

{{- /* serving.rules.autoscaling: nothing to scale, no room to, or words of the other autoscaler. Context: root. Gives lines. */}}
{{- define "serving.rules.autoscaling" -}}
{{- with .Values.autoscaling }}
{{- $manager := include "serving.autoscaler" $ }}
{{- $words := dict "hpa" (list "metrics") "keda" (list "triggers" "pollingInterval" "cooldownPeriod" "fallback") }}
{{- range $key := get (omit $words $manager) (eq $manager "hpa" | ternary "keda" "hpa") }}
{{- if get $.Values.autoscaling $key }}
STK016 autoscaling.{{ $key }} is set, but autoscaling.manager is {{ $manager }}, which does not read it; remove it, or change autoscaling.manager
{{- end }}
{{- end }}
{{- $needed := get $words $manager | first }}
{{- if not (get . $needed) }}
STK016 autoscaling.manager is {{ $manager }}, but autoscaling.{{ $needed }} is not set, by which it scales; set it
{{- end }}
{{- if and (eq $manager "hpa") (eq (int .minReplicas) 0) }}
STK016 autoscaling.minReplicas is 0, but a HorizontalPodAutoscaler leaves 1 at least; set 1, or autoscaling.manager: keda
{{- end }}
{{- if not (include (printf "serving.stack.%s.scaled" $.Values.stack.name) $) }}
STK016 autoscaling is set, but on stack {{ $.Values.stack.name }} there is no object whose replicas are groups to scale; set replicas, or stack.name: lws
{{- else if gt (int .minReplicas) (int .maxReplicas) }}
STK016 autoscaling.minReplicas is {{ int .minReplicas }}, but maxReplicas is {{ int .maxReplicas }}; raise autoscaling.maxReplicas
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rollout: replicas (the fewest that serve and the most, with an autoscaler), and the groups that maxUnavailable
       (rounded down) and maxSurge (rounded up) come to. Context: root. Gives JSON. */}}
{{- define "serving.rollout" -}}
{{- $replicas := int .Values.replicas }}
{{- with .Values.autoscaling }}
{{- $replicas = max 1 (int .minReplicas) | int }}
{{- end }}
{{- $groups := dict "replicas" $replicas "most" ((.Values.autoscaling).maxReplicas | default .Values.replicas | int) }}
{{- range $name, $value := dict "unavailable" .Values.rollout.maxUnavailable "surge" .Values.rollout.maxSurge }}
{{- $number := int (trimSuffix "%" (toString $value)) }}
{{- if contains "%" (toString $value) }}
{{- $share := divf (mul $number $replicas) 100 }}
{{- $number = eq $name "surge" | ternary (ceil $share) (floor $share) }}
{{- end }}
{{- $_ := set $groups $name $number }}
{{- end }}
{{- toJson $groups }}
{{- end }}

{{- /* serving.rule.name: is a name possible. Context: list of the name, its greatest length and why. Gives lines. */}}
{{- define "serving.rule.name" -}}
{{- $name := first . }}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name) }}
STK002 name {{ $name | quote }} is not possible: it must begin with a lower-case letter, end with a letter or digit and hold only a-z, 0-9 and -; choose another release name or set fullnameOverride
{{- end }}
{{- if gt (len $name) (index . 1) }}
STK002 name {{ $name | quote }} has {{ len $name }} characters, but {{ index . 1 }} is the limit ({{ last . }}); choose a shorter release name or set fullnameOverride
{{- end }}
{{- end }}

{{- /* serving.rules.metadata: labels and annotations that are not the user's to set. Context: root. Gives lines. */}}
{{- define "serving.rules.metadata" -}}
{{- $owned := .known.owned.metadata }}
{{- range $section := list "pod" "leader" "worker" }}
{{- range $field := list "labels" "annotations" }}
{{- range $key, $_ := include "serving.overlay" (list (get (get $.Values $section | default dict) $field)) | fromJson }}
{{- range $row := $owned }}
{{- if or (eq $key $row.key) (and (hasSuffix "/" $row.key) (hasPrefix $row.key $key)) }}
STK005 {{ $section }}.{{ $field }} sets {{ $key }}, which is not for the values to set; remove it, and use {{ $row.use }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rule.plainRollout: a stack without a choice of how to replace groups. Context: list of root and what it
       does instead. Gives lines. */}}
{{- define "serving.rule.plainRollout" -}}
{{- $what := last . }}
{{- range $key, $default := dict "maxUnavailable" "1" "maxSurge" "0" "partition" "0" }}
{{- $given := get (first $).Values.rollout $key | toString }}
{{- if ne $given $default }}
STK006 rollout.{{ $key }} is {{ $given }}, but {{ $what }}; remove it, or set stack.name: lws
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.rule.supervisor: a stack that replaces a lost pod alone. Context: list of root and the reason. Gives lines. */}}
{{- define "serving.rule.supervisor" -}}
{{- $root := first . }}
{{- if and (gt (int $root.Values.group.nodes) 1) (not $root.Values.supervisor.enabled) }}
STK008 {{ last . }}, but supervisor.enabled is false: nothing would join a replaced pod to its group again; set supervisor.enabled: true
{{- end }}
{{- end }}
