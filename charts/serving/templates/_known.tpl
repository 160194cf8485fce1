{{- /* What all parts ask for. An include is worked out anew each time and gives text, which has to be read again; this is
       worked out once. */}}

{{- /* serving.know: keep at the root, as .known, what the tables and the values come to. Whatever is rendered begins with
       it, and changes nothing of it. Context: root. Gives nothing.
         engine    files/engines/<engine>.yaml
         owned     files/owned.yaml
         ports     container ports by name, the engine's own among them
         layout    the numbers of one replica
         suffix    what the stack adds to the release's name for its set
         launch    the launch scripts: path below files/launch -> content
         checksum  of the launch scripts
         fixed     volumes of every pod that the values cannot replace */}}
{{- define "serving.know" -}}
{{- if not (hasKey . "known") }}
{{- $engine := .Files.Get (printf "files/engines/%s.yaml" .Values.engine.name) | fromYaml }}
{{- $owned := .Files.Get "files/owned.yaml" | fromYaml }}
{{- $known := dict "engine" $engine "owned" $owned "ports" (merge dict $owned.ports ($engine.ports | default dict)) "launch" dict }}
{{- $_ := set . "known" $known }}
{{- $_ := set $known "layout" (include "serving.layout" . | fromJson) }}
{{- $_ := set $known "suffix" (include (printf "serving.stack.%s.suffix" .Values.stack.name) .) }}
{{- include "serving.launchFiles" . }}
{{- $_ := set $known "checksum" (toRawJson $known.launch | sha256sum) }}
{{- $_ := set $known "fixed" (include "serving.volumes.fixed" . | fromYaml) }}
{{- end }}
{{- end }}
