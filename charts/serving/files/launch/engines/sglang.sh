# SGLang: the same command on every node but for its rank. Sourced by launch.sh.
# Since when a flag exists was read from the releases of github.com/sgl-project/sglang.
# shellcheck shell=bash disable=SC2154 # `leader` is set by find_leader

# The command came after the module, which still works everywhere.
serve=(sglang serve)
command -v sglang >/dev/null || serve=(python3 -m sglang.launch_server)

version() { engine_version sglang "${serve[@]:0:${#serve[@]}-1}" version; }

# A worker's HTTP port answers 200 to everything: only the leader serves.
engine_facts() {
  local found
  found=$(version)
  printf '%s\n' \
    "ENGINE_VERSION=$found" \
    "SERVES_HTTP=$(truth leads)" \
    HEALTH_PATH=/health \
    METRICS_PATH=/metrics \
    COMPLETION_PATH=/v1/completions \
    "PROGRESS_METRIC=sglang:realtime_tokens_total sglang:generation_tokens_total sglang:token_usage" \
    RUNNING_METRIC=sglang:num_running_reqs \
    WAITING_METRIC=sglang:num_queue_reqs
}

engine_environment() {
  export SGLANG_HOST_IP=${SGLANG_HOST_IP:-$LOCKSTEP_POD_IP}
  # /health runs a request and may take 20 s; the supervisor asks its own, and wants the state alone.
  if [[ $LOCKSTEP_SUPERVISOR == true ]]; then
    export SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=${SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION:-0}
  fi
}

# Sets `command`. What Lockstep only suggests stands before the user's arguments, so that theirs win.
engine_command() {
  local found
  check_layout
  found=$(version)
  command=("${serve[@]}" --model-path "$LOCKSTEP_MODEL" --served-model-name "$LOCKSTEP_SERVED_NAME")
  if [[ -n ${LOCKSTEP_REVISION:-} ]]; then command+=(--revision "$LOCKSTEP_REVISION"); fi
  command+=(--dist-timeout "$LOCKSTEP_STARTUP_SECONDS" --enable-metrics "$@")
  command+=(--tp-size "$LOCKSTEP_TENSOR" --pp-size "$LOCKSTEP_PIPELINE")
  if ((LOCKSTEP_DATA > 1)); then attention_data_parallel "$found"; fi
  if ((${LOCKSTEP_EXPERT:-1} > 1)); then command+=(--ep-size "$LOCKSTEP_EXPERT"); fi
  # Workers too: without an address their HTTP port would be on localhost.
  command+=(--host "$(bind_address)" --port "$LOCKSTEP_PORT")
  if ((LOCKSTEP_NODE_COUNT > 1)); then
    find_leader
    if is_ipv6 "$leader"; then leader="[$leader]"; fi
    command+=(--nnodes "$LOCKSTEP_NODE_COUNT" --node-rank "$LOCKSTEP_NODE_RANK")
    command+=(--dist-init-addr "$leader:$LOCKSTEP_MASTER_PORT")
  fi
}

check_layout() {
  local port=$LOCKSTEP_MASTER_PORT
  # With data parallel attention the leader binds the ports that follow the master port.
  ((LOCKSTEP_PORT < port || LOCKSTEP_PORT > port + 10)) ||
    fail "LOCKSTEP_PORT is $LOCKSTEP_PORT, but SGLang keeps ports $port to $((port + 10)) for its ranks"
  ((LOCKSTEP_CONTEXT == 1)) || fail "parallelism.context is $LOCKSTEP_CONTEXT: Lockstep does not lay SGLang out so"
  ((LOCKSTEP_TENSOR % LOCKSTEP_DATA == 0)) ||
    fail "parallelism.data is $LOCKSTEP_DATA, but parallelism.tensor is $LOCKSTEP_TENSOR: SGLang's attention splits" \
      "the tensor ranks into data parallel groups of equal size"
}

# The attention's data parallel groups are made of the tensor ranks.
attention_data_parallel() {
  if at_least 0.5.23 "$1"; then
    command+=(--attn-dp-size "$LOCKSTEP_DATA")
  else
    command+=(--dp-size "$LOCKSTEP_DATA" --enable-dp-attention)
  fi
}
