# How the ranks of a vLLM group on several nodes find each other. Sourced by engines/vllm.sh.
# shellcheck shell=bash disable=SC2154 # `leader` is set by find_leader, `here` by launch.sh

# Adds to `command`, given the engine's version.
across_nodes() {
  local engine_gpus=$((LOCKSTEP_TENSOR * LOCKSTEP_PIPELINE * LOCKSTEP_CONTEXT))
  find_leader
  if [[ $LOCKSTEP_EXECUTOR == ray ]]; then
    through_ray
  elif ((LOCKSTEP_DATA > 1 && engine_gpus <= LOCKSTEP_GPUS_PER_NODE)); then
    whole_engines_per_node $((LOCKSTEP_GPUS_PER_NODE / engine_gpus))
  else
    one_process_group "$1"
  fi
}

# Tensor and pipeline ranks over all nodes; data parallel engines that each span nodes follow from it.
one_process_group() {
  local since=0.11.1
  # Up to 0.16 each engine bound --master-addr, which only the first one's node holds (vllm-project/vllm#35429).
  if ((LOCKSTEP_DATA > 1)); then since=0.17.0; fi
  if [[ -n $1 ]] && ! at_least "$since" "$1"; then
    fail "vLLM $1 cannot run this layout over $LOCKSTEP_NODE_COUNT nodes without Ray: that came with $since." \
      "Use an image with vLLM $since or newer."
  fi
  [[ $LOCKSTEP_LOAD_BALANCING == internal ]] ||
    fail "parallelism.loadBalancing is $LOCKSTEP_LOAD_BALANCING, but each engine needs more than one node:" \
      "only its first node has HTTP. Use internal, or tensor x pipeline x context of at most group.gpusPerNode."
  command+=(
    --distributed-executor-backend mp --nnodes "$LOCKSTEP_NODE_COUNT" --node-rank "$LOCKSTEP_NODE_RANK"
    --master-addr "$leader" --master-port "$LOCKSTEP_MASTER_PORT"
  )
}

# Data parallel engines, each within one node: the leader gathers them on the master port.
whole_engines_per_node() {
  local first=$((LOCKSTEP_NODE_RANK * $1))
  command+=(--data-parallel-address "$leader" --data-parallel-rpc-port "$LOCKSTEP_MASTER_PORT")
  case $LOCKSTEP_LOAD_BALANCING in
    internal)
      command+=(--data-parallel-size-local "$1")
      # On a rank with HTTP this flag would mean hybrid balancing.
      if ((first > 0)); then command+=(--data-parallel-start-rank "$first"); fi
      ;;
    hybrid)
      command+=(--data-parallel-size-local "$1" --data-parallel-start-rank "$first" --data-parallel-hybrid-lb)
      ;;
    external)
      (($1 == 1)) || fail "parallelism.loadBalancing is external, but each node would hold $1 data parallel engines:" \
        "their one port serves one engine. Use hybrid, or engines of group.gpusPerNode GPUs."
      command+=(--data-parallel-rank "$first")
      ;;
  esac
}

# One engine on the leader, which places its workers on the nodes that join its Ray cluster.
through_ray() {
  ((LOCKSTEP_DATA == 1)) ||
    fail "engine.executor is ray, but parallelism.data is $LOCKSTEP_DATA: data parallel groups run with mp"
  if leads; then
    command=(bash "$here/engines/vllm/ray.sh" lead "${command[@]}" --distributed-executor-backend ray)
  else
    command=(bash "$here/engines/vllm/ray.sh" join "$leader")
  fi
}
