#!/usr/bin/env bash
# One node of a Ray cluster that lives as long as its engine.
#
#   ray.sh lead COMMAND...  start the cluster, wait for all nodes, become the engine
#   ray.sh join LEADER      join it and stay; ends, non-zero, when this node's part of Ray does
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=charts/serving/files/launch/lib/contract.sh
source "$here/lib/contract.sh"
# shellcheck source=charts/serving/files/launch/lib/network.sh
source "$here/lib/network.sh"
# shellcheck source=charts/serving/files/launch/lib/leader.sh
source "$here/lib/leader.sh"
# shellcheck source=charts/serving/files/launch/lib/steps.sh
source "$here/lib/steps.sh"
# shellcheck source=charts/serving/files/launch/lib/version.sh
source "$here/lib/version.sh"

command -v ray >/dev/null ||
  fail "engine.executor is ray, but there is no 'ray' in this image: vLLM's images carry it up to 0.17.1." \
    "Use an image that adds it, or engine.executor: mp, which needs none."

# What runs code for whoever connects wants the group's token, where Ray knows such a thing (2.52 and later).
if [[ -n ${LOCKSTEP_GROUP_TOKEN:-} ]]; then
  export RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$LOCKSTEP_GROUP_TOKEN
fi
node=(--node-ip-address "$LOCKSTEP_POD_IP" --disable-usage-stats)

endpoint() { if is_ipv6 "$1"; then printf '[%s]:%s' "$1" "$2"; else printf '%s:%s' "$1" "$2"; fi; }

lead() {
  obey_term
  RAY_ADDRESS=$(endpoint "$LOCKSTEP_POD_IP" "$LOCKSTEP_MASTER_PORT")
  step ray start --head "${node[@]}" --port "$LOCKSTEP_MASTER_PORT" --include-dashboard=false
  export RAY_ADDRESS
  step "$(interpreter_of ray)" "$here/engines/vllm/ray_nodes.py" "$LOCKSTEP_NODE_COUNT" "$LOCKSTEP_STARTUP_SECONDS"
  become "$@"
}

join() {
  obey_term
  LOCKSTEP_LEADER_ADDRESS=$1
  step wait_for_leader_port
  become ray start --address "$(endpoint "$1" "$LOCKSTEP_MASTER_PORT")" "${node[@]}" --block
}

"$@"
