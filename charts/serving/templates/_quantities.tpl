{{- /* Kubernetes quantities: what they come to, and how they are stored. */}}

{{- /* serving.bytes: a Kubernetes quantity as a number. Context: the quantity. */}}
{{- define "serving.bytes" -}}
{{- $text := include "serving.scalar" . }}
{{- $number := regexFind "^[0-9.]+([eE][0-9]+)?" $text }}
{{- $unit := trimPrefix $number $text }}
{{- $factors := dict "" 1.0 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 }}
{{- mulf (float64 $number) (get $factors $unit) }}
{{- end }}

{{- /* serving.quantity: a quantity as the API server and defaulting webhooks write it (k8s.io/apimachinery
       pkg/api/resource, CanonicalizeBytes), so that what is stored is what was rendered: 1024Mi is 1Gi, 0.5 is 500m, and
       less than 1024 has no binary unit. Context: the quantity. */}}
{{- define "serving.quantity" -}}
{{- $value := include "serving.bytes" . | float64 }}
{{- $units := list "" "k" "M" "G" "T" "P" "E" }}
{{- $base := 1000 }}
{{- if and (hasSuffix "i" (include "serving.scalar" .)) (ge $value 1024.0) }}
{{- $units = list "" "Ki" "Mi" "Gi" "Ti" "Pi" "Ei" }}
{{- $base = 1024 }}
{{- else if ne $value (floor $value) }}
{{- $value = mulf $value 1000 | ceil }}
{{- $units = prepend $units "m" }}
{{- end }}
{{- $number := int64 (ceil $value) }}
{{- $unit := 0 }}
{{- range untilStep 1 (len $units) 1 }}
{{- if and (eq $unit (sub . 1 | int)) (gt $number 0) (eq 0 (mod $number $base | int)) }}
{{- $number = div $number $base }}
{{- $unit = . }}
{{- end }}
{{- end }}
{{- $number }}{{ gt $number 0 | ternary (index $units $unit) "" }}
{{- end }}

{{- /* serving.quantities: a map of quantities, each in that form. Context: the map. Gives JSON. */}}
{{- define "serving.quantities" -}}
{{- $found := dict }}
{{- range $name, $quantity := . }}
{{- if not (kindIs "invalid" $quantity) }}
{{- $_ := set $found $name (include "serving.quantity" $quantity) }}
{{- end }}
{{- end }}
{{- toJson $found }}
{{- end }}
