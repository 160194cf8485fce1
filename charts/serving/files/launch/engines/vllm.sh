# vLLM: one command on every node, plus the flags of this rank's part in it. Sourced by launch.sh.
# Since when a flag exists was read from the releases of github.com/vllm-project/vllm.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's

# shellcheck source=charts/serving/files/launch/engines/vllm/layout.sh
source "$here/engines/vllm/layout.sh"

version() {
  need vllm
  engine_version vllm vllm --version
}

# Every rank has HTTP where something outside the group balances the load, else the leader alone.
serves_http() { leads || [[ $LOCKSTEP_LOAD_BALANCING != internal ]]; }

engine_facts() {
  local found
  found=$(version)
  printf '%s\n' \
    "ENGINE_VERSION=$found" \
    "SERVES_HTTP=$(truth serves_http)" \
    HEALTH_PATH=/health \
    METRICS_PATH=/metrics \
    COMPLETION_PATH=/v1/completions \
    'PROGRESS_METRIC=vllm:iteration_tokens_total_count vllm:kv_cache_usage_perc' \
    KEY_VARIABLE=VLLM_API_KEY \
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
  if ((LOCKSTEP_DATA > 1)); then command+=(--data-parallel-size "$LOCKSTEP_DATA"); fi
  if ((${LOCKSTEP_EXPERT:-1} > 1)); then command+=(--enable-expert-parallel); fi
  if serves_http; then command+=(--host "$(bind_address)" --port "$LOCKSTEP_PORT"); else command+=(--headless); fi
  if ((LOCKSTEP_NODE_COUNT > 1)) || [[ $LOCKSTEP_EXECUTOR == ray ]]; then across_nodes "$found"; fi
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
