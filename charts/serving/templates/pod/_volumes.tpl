{{- /* Volumes. The root file system is read-only, so everything that an engine writes has a volume. */}}

{{- /* serving.volumes: the list of volumes. tmp, home and cache may be replaced by pod.volumes, the others may not.
       Context: dict root, role, pod. */}}
{{- define "serving.volumes" -}}
{{- $writable := dict "tmp" (dict "emptyDir" dict) "home" (dict "emptyDir" dict) "cache" (dict "emptyDir" dict) }}
{{- $fixed := .root.known.fixed }}
{{- range $name, $source := include "serving.overlay" (list $writable .pod.volumes $fixed) | fromJson }}
{{- with ($source.emptyDir | default dict).sizeLimit }}
{{- $_ := set $source.emptyDir "sizeLimit" (include "serving.quantity" .) }}
{{- end }}
- name: {{ $name }}
  {{- include "serving.yaml" $source | nindent 2 }}
{{- end }}
{{- end }}

{{- /* serving.volumes.fixed: launch scripts, shared memory, weights and the key of ssh. Context: root. Gives YAML. */}}
{{- define "serving.volumes.fixed" -}}
launch:
  configMap:
    name: {{ include "serving.fullname" . }}-launch
    items:
      {{- range $path, $_ := .known.launch }}
      - {key: {{ include "serving.launchKey" $path }}, path: {{ $path }}}
      {{- end }}
shm:
  emptyDir:
    medium: Memory
    sizeLimit: {{ include "serving.quantity" .Values.sharedMemory.size | quote }}
{{- with include "serving.weightsVolume" . }}
models:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.engine.sshSecret }}
ssh:
  secret:
    secretName: {{ .name | quote }}
    # For the owner and the pod's group alone.
    defaultMode: 288
    items:
      - {key: {{ .key | default "ssh-privatekey" | quote }}, path: key}
{{- end }}
{{- end }}

{{- /* serving.volumeMounts: mounts of the engine container by path. Context: dict root, role, pod. */}}
{{- define "serving.volumeMounts" -}}
{{- $mounts := dict }}
{{- $always := list "tmp" "home" "cache" }}
{{- $fixed := .root.known.fixed }}
{{- range $path, $volume := .root.known.owned.mounts }}
{{- $mount := dict "name" $volume }}
{{- if has $volume (list "launch" "models" "ssh") }}
{{- $_ := set $mount "readOnly" true }}
{{- end }}
{{- if or (has $volume $always) (hasKey $fixed $volume) }}
{{- $_ := set $mounts $path $mount }}
{{- end }}
{{- end }}
{{- range $path, $mount := include "serving.overlay" (list $mounts .pod.volumeMounts) | fromJson }}
- mountPath: {{ $path }}
  {{- include "serving.yaml" $mount | nindent 2 }}
{{- end }}
{{- end }}
