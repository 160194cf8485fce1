{{- /* SGLang. Whatever launch.sh can work out in the pod is not repeated here. */}}

{{- /* serving.engine.sglang.contract: variables that are this engine's part of the contract. Context: root. */}}
{{- define "serving.engine.sglang.contract" -}}
{{- end }}

{{- /* serving.engine.sglang.env: defaults that engine.env may replace; names as in sglang/srt/environ.py of 0.5.23.
       Context: root. */}}
{{- define "serving.engine.sglang.env" -}}
SGLANG_DG_CACHE_DIR: /cache/deep_gemm
{{- end }}

{{- /* serving.engine.sglang.rules: what this engine cannot do. Context: root. Gives lines. */}}
{{- define "serving.engine.sglang.rules" -}}
{{- $layout := .known.layout }}
{{- if mod $layout.tensor $layout.data }}
PAR011 parallelism.data is {{ $layout.data }}, but SGLang's attention splits the parallelism.tensor {{ $layout.tensor }} ranks into data parallel groups of equal size; set parallelism.data to a divisor of {{ $layout.tensor }}
{{- end }}
{{- if mod $layout.tensor $layout.expert }}
PAR009 parallelism.expert is {{ $layout.expert }}, but SGLang deals experts to equal parts of the parallelism.tensor {{ $layout.tensor }} ranks; set parallelism.expert: all, or a divisor of {{ $layout.tensor }}
{{- end }}
{{- if mod (max $layout.nodes $layout.pipeline) (min $layout.nodes $layout.pipeline) }}
PAR011 parallelism.pipeline is {{ $layout.pipeline }} and group.nodes {{ $layout.nodes }}, but SGLang puts whole stages on a node or a stage on whole nodes; set parallelism.pipeline: {{ $layout.nodes }}
{{- end }}
{{- if contains ":" (.Values.model.servedName | default "") }}
ENG005 model.servedName is {{ .Values.model.servedName }}, but SGLang takes no name with a colon, which parts a model from its adapter; choose another name
{{- end }}
{{- end }}
