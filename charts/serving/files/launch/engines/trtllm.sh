# TensorRT-LLM (github.com/NVIDIA/TensorRT-LLM): an MPI rank for each GPU, started by the leader. Sourced by launch.sh.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's, `leader` is set by find_leader

version() {
  need trtllm-serve
  engine_version tensorrt_llm trtllm-serve --version
}

engine_facts() {
  local found
  found=$(version)
  printf '%s\n' \
    "ENGINE_VERSION=$found" \
    "SERVES_HTTP=$(truth leads)" \
    HEALTH_PATH=/health \
    METRICS_PATH=/prometheus/metrics \
    COMPLETION_PATH=/v1/completions \
    "PROGRESS_METRIC=trtllm_generation_tokens_total trtllm_prompt_tokens_total trtllm_request_success_total" \
    RUNNING_METRIC=trtllm_num_requests_running \
    WAITING_METRIC=trtllm_num_requests_waiting
}

engine_environment() {
  export TRTLLM_NO_USAGE_STATS=${TRTLLM_NO_USAGE_STATS:-1}
  # Containers may not read each other's memory, not even those of one pod.
  export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
}

# Sets `command`.
engine_command() {
  ((LOCKSTEP_DATA == 1)) ||
    fail "parallelism.data is $LOCKSTEP_DATA: TensorRT-LLM has data parallel attention by enable_attention_dp in its config"
  ! is_ipv6 "$LOCKSTEP_POD_IP" || fail "the pod has only an IPv6 address ($LOCKSTEP_POD_IP): trtllm-serve binds IPv4"
  if leads; then
    server_command "$@"
    # On one node the server starts its ranks by itself.
    ((LOCKSTEP_NODE_COUNT == 1)) || command=(bash "$here/engines/trtllm/mpi.sh" lead "${command[@]}")
  else
    find_leader
    command=(bash "$here/engines/trtllm/mpi.sh" join "$leader")
  fi
}

server_command() {
  command=(trtllm-serve "$LOCKSTEP_MODEL")
  name_model
  if [[ -n ${LOCKSTEP_REVISION:-} ]]; then command+=(--revision "$LOCKSTEP_REVISION"); fi
  with_config_file "$@"
  command+=(--tp_size "$LOCKSTEP_TENSOR" --pp_size "$LOCKSTEP_PIPELINE")
  if ((LOCKSTEP_CONTEXT > 1)); then command+=(--cp_size "$LOCKSTEP_CONTEXT"); fi
  if ((${LOCKSTEP_EXPERT:-1} > 1)); then command+=(--ep_size "$LOCKSTEP_EXPERT"); fi
  command+=(--gpus_per_node "$LOCKSTEP_GPUS_PER_NODE" --host "$(bind_address)" --port "$LOCKSTEP_PORT")
}

# Before it had a flag the name was the model's own.
name_model() {
  local found own=$LOCKSTEP_MODEL
  found=$(version)
  [[ $own != /* ]] || own=${own##*/}
  if at_least 1.3.0 "$found"; then
    command+=(--served_model_name "$LOCKSTEP_SERVED_NAME")
  elif [[ $LOCKSTEP_SERVED_NAME != "$own" ]]; then
    fail "model.servedName is '$LOCKSTEP_SERVED_NAME', but TensorRT-LLM ${found:-of this image} serves the model as" \
      "'$own': --served_model_name came with 1.3.0. Set model.servedName: $own, or use a newer image."
  fi
}

# The config is a file to the engine and a map in the values: JSON, which is YAML too, becomes the file.
with_config_file() {
  local item file
  for item in "$@"; do
    if [[ ${command[-1]} =~ ^--(config|extra_llm_api_options)$ && $item == '{'* ]]; then
      file=$(mktemp "${TMPDIR:-/tmp}/trtllm-config.XXXXXX")
      printf '%s\n' "$item" >"$file"
      item=$file
    fi
    command+=("$item")
  done
}
