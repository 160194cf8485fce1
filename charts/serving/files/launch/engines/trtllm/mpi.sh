#!/usr/bin/env bash
# One node of an MPI job over ssh that lives as long as its engine.
#
#   mpi.sh lead COMMAND...  wait for all nodes, then run one rank for each GPU; rank 0 runs the command
#   mpi.sh join LEADER      serve ssh to the leader, say so to it, and stay
#
# LOCKSTEP_SSH_KEY is a private key that the pods of a group share. It is the client's key and the host's key as well:
# both sides of a connection prove that they belong to the group.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=charts/serving/files/launch/lib/contract.sh
source "$here/lib/contract.sh"
# shellcheck source=charts/serving/files/launch/lib/steps.sh
source "$here/lib/steps.sh"

port=${LOCKSTEP_SSH_PORT:-2222}
mine=$here/engines/trtllm
state=$(mktemp -d "${TMPDIR:-/tmp}/mpi.XXXXXX")

need_program() { command -v "$1" >/dev/null || fail "there is no '$1' in this image: TensorRT-LLM over nodes needs $2"; }

# A Secret's file may be readable by a group, which ssh refuses.
take_key() {
  need_program ssh-keygen OpenSSH
  [[ -r ${LOCKSTEP_SSH_KEY:-} ]] ||
    fail "LOCKSTEP_SSH_KEY is '${LOCKSTEP_SSH_KEY:-}': no readable file. Name a Secret of type kubernetes.io/ssh-auth."
  id -un >/dev/null 2>&1 ||
    fail "user $(id -u) has no entry in /etc/passwd, and ssh needs one: run the pod as a user of the image"
  install -m 600 "$LOCKSTEP_SSH_KEY" "$state/key"
  ssh-keygen -y -f "$state/key" >"$state/key.pub" </dev/null ||
    fail "$LOCKSTEP_SSH_KEY holds no private key that opens without a passphrase"
  printf '* %s\n' "$(<"$state/key.pub")" >"$state/known_hosts"
}

lead() {
  local hosts ranks=$((LOCKSTEP_NODE_COUNT * LOCKSTEP_GPUS_PER_NODE)) root=()
  need_program mpirun 'Open MPI'
  take_key
  obey_term
  step python3 "$mine/gather.py" "$LOCKSTEP_GPUS_PER_NODE" >"$state/hosts"
  hosts=$(<"$state/hosts")
  if ((UID == 0)); then root=(--allow-run-as-root); fi
  export LOCKSTEP_MPIRUN=$$ OMPI_MCA_orte_keep_fqdn_hostnames=1
  printf '%s\0' "$@" >"$state/command"
  say "starting $ranks ranks on $hosts"
  become mpirun "${root[@]}" -n "$ranks" --host "$hosts" --map-by slot --bind-to none \
    --prefix "$(dirname "$(dirname "$(readlink -f "$(command -v mpirun)")")")" \
    --mca oob_tcp_if_include "$GLOO_SOCKET_IFNAME" --mca btl_tcp_if_include "$GLOO_SOCKET_IFNAME" \
    --mca plm_rsh_agent ssh --mca plm_rsh_args "-F none -p $port -i $state/key -o IdentitiesOnly=yes -o BatchMode=yes \
-o StrictHostKeyChecking=yes -o UserKnownHostsFile=$state/known_hosts -o ServerAliveInterval=5 -o ConnectTimeout=10" \
    trtllm-llmapi-launch bash "$mine/rank.sh" "$state/command"
}

join() {
  local daemon code=0
  need_program sshd OpenSSH
  take_key
  obey_term
  # Sessions of ssh start with an empty environment.
  env -0 >"$state/environment"
  if ((UID == 0)); then mkdir -p /run/sshd; fi
  "$(command -v sshd)" -D -e -f /dev/null -p "$port" -h "$state/key" \
    -o "ListenAddress=$LOCKSTEP_POD_IP" -o "AuthorizedKeysFile=$state/key.pub" -o StrictModes=no -o PidFile=none \
    -o UsePAM=no -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o PermitRootLogin=prohibit-password \
    -o "ForceCommand=bash $mine/session.sh $state/environment" &
  daemon=$!
  step python3 "$mine/announce.py" "$1" "$port"
  wait "$daemon" || code=$?
  fail "sshd ended with exit code $code: this node's part of the MPI job is lost"
}

"$@"
