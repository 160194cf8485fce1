{{- /* vLLM. Whatever launch.sh can work out in the pod is not repeated here. */}}

{{- /* serving.engine.vllm.contract: variables that are this engine's part of the contract. Context: root. */}}
{{- define "serving.engine.vllm.contract" -}}
- {name: LOCKSTEP_EXECUTOR, value: {{ .Values.engine.executor | default "mp" }}}
- {name: VLLM_HOST_IP, value: $(LOCKSTEP_POD_IP)}
{{- end }}

{{- /* serving.engine.vllm.env: defaults that engine.env may replace. Context: root. */}}
{{- define "serving.engine.vllm.env" -}}
VLLM_CACHE_ROOT: /cache/vllm
{{- end }}

{{- /* serving.engine.vllm.rules: what this engine cannot do. Context: root. Gives lines. */}}
{{- define "serving.engine.vllm.rules" -}}
{{- $layout := .known.layout }}
{{- if not (has $layout.expert (list 1.0 $layout.stage)) }}
PAR009 parallelism.expert is {{ $layout.expert }}, but vLLM deals experts to all {{ $layout.stage }} ranks of a pipeline stage or to none; set parallelism.expert: all, or remove it
{{- end }}
{{- if gt $layout.nodes 1.0 }}
{{- include (printf "serving.engine.vllm.%s" (.Values.engine.executor | default "mp")) . }}
{{- else if eq (.Values.engine.executor | default "mp") "ray" }}
ENG005 engine.executor is ray, but group.nodes is 1: one node needs no Ray; remove engine.executor
{{- end }}
{{- include "serving.engine.vllm.balancing" . }}
{{- include "serving.engine.vllm.device" . }}
{{- end }}

{{- /* serving.engine.vllm.mp: several nodes without Ray. Context: root. Gives lines. */}}
{{- define "serving.engine.vllm.mp" -}}
{{- $layout := .known.layout }}
{{- if gt $layout.data 1.0 }}
{{- $wide := max $layout.engine $layout.gpusPerNode }}
{{- if mod $wide (min $layout.engine $layout.gpusPerNode) }}
PAR011 parallelism makes {{ $layout.data }} data parallel engines of {{ $layout.engine }} GPUs, which do not fill nodes of group.gpusPerNode {{ $layout.gpusPerNode }}: an engine must take whole nodes, or a node whole engines; change parallelism.tensor or parallelism.pipeline
{{- end }}
{{- $since := .known.engine.spanningDataSince }}
{{- if and (gt $layout.engine $layout.gpusPerNode) (semverCompare (printf "< %s" $since) (include "serving.engine.numbers" .)) }}
ENG003 engine.version is {{ include "serving.engine.version" . }}, but data parallel engines of {{ $layout.engine }} GPUs span nodes of {{ $layout.gpusPerNode }}, which vLLM does only from {{ $since }} on; raise engine.version
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.engine.vllm.ray: several nodes with Ray. Context: root. Gives lines. */}}
{{- define "serving.engine.vllm.ray" -}}
{{- $layout := .known.layout }}
{{- $until := .known.engine.rayUntil }}
{{- if gt $layout.data 1.0 }}
PAR013 parallelism.data is {{ $layout.data }}, but engine.executor is ray, with which Lockstep runs one engine a replica; set engine.executor: mp, or replicas: {{ $layout.data }} of smaller groups
{{- end }}
{{- if and (not (.Values.engine.image).repository) (semverCompare (printf ">= %s" $until) (include "serving.engine.numbers" .)) }}
ENG006 engine.executor is ray, but {{ include "serving.engine.image" . }} holds no Ray: vLLM's images left it out from {{ $until }} on; set engine.image.repository to an image that has it, or engine.executor: mp
{{- end }}
{{- end }}

{{- /* serving.engine.vllm.balancing: who can deal requests to data parallel engines. Context: root. Gives lines. */}}
{{- define "serving.engine.vllm.balancing" -}}
{{- $layout := .known.layout }}
{{- if include "serving.everyPodServes" . }}
{{- if or (eq $layout.data 1.0) (eq $layout.nodes 1.0) }}
PAR012 parallelism.loadBalancing is {{ $layout.loadBalancing }}, but with parallelism.data {{ $layout.data }} and group.nodes {{ $layout.nodes }} there are no engines on several nodes to choose from; remove it
{{- else if gt $layout.engine $layout.gpusPerNode }}
PAR012 parallelism.loadBalancing is {{ $layout.loadBalancing }}, but each engine has {{ $layout.engine }} GPUs on nodes of {{ $layout.gpusPerNode }}: only its first node has HTTP; set parallelism.loadBalancing: internal
{{- else if and (eq $layout.loadBalancing "external") (lt $layout.engine $layout.gpusPerNode) }}
PAR012 parallelism.loadBalancing is external, but a node of {{ $layout.gpusPerNode }} GPUs holds several engines of {{ $layout.engine }}: its one port serves one engine; set parallelism.loadBalancing: hybrid
{{- end }}
{{- end }}
{{- end }}

{{- /* serving.engine.vllm.device: what an accelerator cannot do. Context: root. Gives lines. */}}
{{- define "serving.engine.vllm.device" -}}
{{- $layout := .known.layout }}
{{- if and (include "serving.engine.device" . | fromJson).pipelineNeedsPatch (gt $layout.pipeline 1.0) (not (.Values.hooks).preLaunch) }}
PAR014 parallelism.pipeline is {{ $layout.pipeline }}, but vLLM on {{ .Values.group.resourceName }} has no pipeline parallelism of its own; set hooks.preLaunch to a command that adds it to the engine and fails when it cannot, or parallelism.tensor: {{ $layout.ranks }}
{{- end }}
{{- end }}
