# The variables that a stack's template sets in every engine container. Sourced by launch.sh.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's

say() { printf 'lockstep: %s\n' "$*" >&2; }

fail() {
  say "$@"
  exit 64
}

leads() { ((LOCKSTEP_NODE_RANK == 0)); }

# truth COMMAND...: its answer as a word.
truth() { if "$@"; then printf true; else printf false; fi; }

words=(ENGINE LEADER_ADDRESS GROUP POD_IP POD_NAME POD_UID MODEL SERVED_NAME SUPERVISOR)
numbers=(
  NODE_RANK NODE_COUNT GPUS_PER_NODE TENSOR PIPELINE DATA CONTEXT
  PORT MASTER_PORT STATUS_PORT MEMBERSHIP_PORT
  STARTUP_SECONDS DRAIN_SECONDS PROPAGATION_SECONDS
)
supervised=(HEARTBEAT_SECONDS DEADLINE_SECONDS MAX_RESTARTS STABLE_SECONDS STALL_SECONDS)
optional=(REVISION INTERFACE GROUP_TOKEN BIND EXECUTOR EXPERT LOAD_BALANCING SSH_KEY SSH_PORT)
unexpanded='$''(' # what kubelet leaves of a reference that it cannot expand

# One line for each variable that cannot be right.
contract_faults() {
  local name value
  [[ ${LOCKSTEP_SUPERVISOR:-} == true ]] && words+=("${supervised[@]}")
  for name in "${words[@]}" "${numbers[@]}"; do
    value=LOCKSTEP_$name
    [[ -n ${!value:-} ]] || echo "$value is ${!value+empty}${!value-missing}"
  done
  for name in "${words[@]}" "${numbers[@]}" "${optional[@]}"; do
    value=LOCKSTEP_$name
    [[ ${!value:-} != *"$unexpanded"* ]] || echo "$value is '${!value}': the reference in it was not expanded"
  done
  for name in "${numbers[@]}"; do
    value=LOCKSTEP_$name
    [[ -z ${!value:-} || ${!value} == *"$unexpanded"* || ${!value} =~ ^[0-9]+$ ]] ||
      echo "$value is '${!value}': a whole number is expected"
  done
}

# one_of NAME DEFAULT OTHER...: the variable is one of these words; absent, it is the first.
one_of() {
  local name=LOCKSTEP_$1 word
  shift
  export "$name=${!name:-$1}"
  for word in "$@"; do
    if [[ ${!name} == "$word" ]]; then return; fi
  done
  fail "$name is '${!name}': one of $* is expected"
}

check_contract() {
  local faults
  faults=$(contract_faults)
  if [[ -n $faults ]]; then
    while IFS= read -r fault; do say "$fault"; done <<<"$faults"
    fail "these variables are set by the stack's template of charts/serving: render the chart again with" \
      "this version of it, and set none of them in engine.env"
  fi
  # Grove numbers its workers from 0 and cannot add. What runs below must not add again.
  export LOCKSTEP_NODE_RANK=$((LOCKSTEP_NODE_RANK + ${LOCKSTEP_RANK_OFFSET:-0}))
  unset LOCKSTEP_RANK_OFFSET
  ((LOCKSTEP_NODE_RANK < LOCKSTEP_NODE_COUNT)) ||
    fail "LOCKSTEP_NODE_RANK is $LOCKSTEP_NODE_RANK, but LOCKSTEP_NODE_COUNT is $LOCKSTEP_NODE_COUNT:" \
      "ranks count from 0. The stack runs more pods than group.nodes says."
  one_of SUPERVISOR true false
  one_of EXECUTOR mp ray
  one_of LOAD_BALANCING internal hybrid external
  [[ -f $here/engines/$LOCKSTEP_ENGINE.sh ]] ||
    fail "LOCKSTEP_ENGINE is '$LOCKSTEP_ENGINE', but there is no $here/engines/$LOCKSTEP_ENGINE.sh"
}
