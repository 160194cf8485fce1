# vLLM: one command on every node, plus the flags of this rank's part in it. Sourced by launch.sh.
# Since when a flag exists was read from the releases of github.com/vllm-project/vllm.
# shellcheck shell=bash disable=SC2154 # `leader` is set by find_leader

version() { engine_version vllm --version; }

engine_facts() {
  local serves=false found
  found=$(version)
  if ((LOCKSTEP_NODE_RANK == 0)); then serves=true; fi
  printf '%s\n' \
    "ENGINE_VERSION=$found" \
    "SERVES_HTTP=$serves" \
    HEALTH_PATH=/health \
    METRICS_PATH=/metrics \
    COMPLETION_PATH=/v1/completions \
    PROGRESS_METRIC=vllm:iteration_tokens_total_count \
    RUNNING_METRIC=vllm:num_requests_running \
    WAITING_METRIC=vllm:num_requests_waiting
}

# Defaults: what the user's own environment says stays.
engine_environment() {
  export VLLM_HOST_IP=${VLLM_HOST_IP:-$LOCKSTEP_POD_IP}
  export VLLM_NO_USAGE_STATS=${VLLM_NO_USAGE_STATS:-1}
  export VLLM_ENGINE_READY_TIMEOUT_S=${VLLM_ENGINE_READY_TIMEOUT_S:-$LOCKSTEP_STARTUP_SECONDS}
  # The engine's own last resort against a hung rank; 300 s when left alone.
  if [[ -n ${LOCKSTEP_STALL_SECONDS:-} ]]; then
    export VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=${VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS:-$LOCKSTEP_STALL_SECONDS}
  fi
}

# Sets `command`. What Lockstep only suggests stands before the user's arguments, so that theirs win.
engine_command() {
  local found
  found=$(version)
  command=(vllm serve "$LOCKSTEP_MODEL" --served-model-name "$LOCKSTEP_SERVED_NAME")
  if [[ -n ${LOCKSTEP_REVISION:-} ]]; then command+=(--revision "$LOCKSTEP_REVISION"); fi
  suggestions "$found"
  command+=("$@" --tensor-parallel-size "$LOCKSTEP_TENSOR" --pipeline-parallel-size "$LOCKSTEP_PIPELINE")
  if ((LOCKSTEP_CONTEXT > 1)); then command+=(--prefill-context-parallel-size "$LOCKSTEP_CONTEXT"); fi
  if ((LOCKSTEP_NODE_COUNT > 1)); then across_nodes "$found"; fi
  if ((LOCKSTEP_NODE_RANK == 0)); then
    command+=(--host "$(bind_address)" --port "$LOCKSTEP_PORT")
  else
    command+=(--headless)
  fi
}

suggestions() {
  if at_least 0.16.0 "$1"; then command+=(--disable-access-log-for-endpoints '/health,/metrics'); fi
  at_least 0.18.0 "$1" || return 0
  # Ranks reach the rendezvous as far apart as a start allows; the default is ten minutes.
  command+=(--distributed-timeout-seconds "$LOCKSTEP_STARTUP_SECONDS")
  # The supervisor drains before it sends TERM; with a timeout of its own the engine would then go on
  # serving, with /health at 200 and each new request failing.
  if [[ $LOCKSTEP_SUPERVISOR == false ]]; then command+=(--shutdown-timeout "$LOCKSTEP_DRAIN_SECONDS"); fi
}

across_nodes() {
  if [[ -n $1 ]] && ! at_least 0.11.1 "$1"; then
    fail "vLLM $1 cannot span $LOCKSTEP_NODE_COUNT nodes without Ray: its own --nnodes came with 0.11.1." \
      "Use an image with vLLM 0.11.1 or newer (0.17 or newer is better)."
  fi
  find_leader
  command+=(
    --distributed-executor-backend mp --nnodes "$LOCKSTEP_NODE_COUNT" --node-rank "$LOCKSTEP_NODE_RANK"
    --master-addr "$leader" --master-port "$LOCKSTEP_MASTER_PORT"
  )
}
