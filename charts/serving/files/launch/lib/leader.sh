# Where the leader of this group is. Sourced by launch.sh.
# shellcheck shell=bash

# Prints the leader's address in the family of this pod's own, or nothing.
look_up_leader() {
  local name=$LOCKSTEP_LEADER_ADDRESS database=ahostsv4
  if is_ipv6 "$name" || [[ $name =~ ^[0-9.]+$ ]]; then
    printf '%s' "$name"
    return
  fi
  if is_ipv6 "$LOCKSTEP_POD_IP"; then database=ahostsv6; fi
  # ahostsv6 maps a name that has no IPv6 address into ::ffff:0:0/96.
  getent "$database" "$name" | awk '$1 !~ /^::ffff:/ { print $1; exit }'
}

# Sets `leader`. Waits as long as a start may last: a worker that gives up makes the stack recreate
# a group whose leader is only pending (kubernetes-sigs/lws#746).
find_leader() {
  local began=$SECONDS shown=-10 waited
  leader=$LOCKSTEP_POD_IP
  if ((LOCKSTEP_NODE_RANK == 0)); then return; fi
  until leader=$(look_up_leader) && [[ -n $leader ]]; do
    waited=$((SECONDS - began))
    ((waited < LOCKSTEP_STARTUP_SECONDS)) ||
      fail "the leader's name $LOCKSTEP_LEADER_ADDRESS did not resolve in $LOCKSTEP_STARTUP_SECONDS s" \
        "(startup.seconds): is the leader pod scheduled, and does its Service publish addresses that are not ready?"
    if ((waited - shown >= 10)); then
      say "waiting for the leader: $LOCKSTEP_LEADER_ADDRESS does not resolve yet ($waited of $LOCKSTEP_STARTUP_SECONDS s)"
      shown=$waited
    fi
    sleep 1
  done
}

# One connection to the port on which the leader's engine gathers its ranks.
leader_answers() {
  python3 - "$leader" "$LOCKSTEP_MASTER_PORT" <<'PYTHON'
import socket
import sys

try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2).close()
except OSError as error:
    sys.exit(f"lockstep: the leader does not answer on {sys.argv[1]} port {sys.argv[2]}: {error}")
PYTHON
}

# A worker's liveness: asks once, kubelet counts.
check_alive() {
  leader=$(look_up_leader) && [[ -n $leader ]] || fail "the leader's name $LOCKSTEP_LEADER_ADDRESS does not resolve"
  leader_answers
}

# A worker's engine gives up on its leader after minutes; the leader's image may take an hour.
wait_for_leader_port() {
  local began=$SECONDS
  ((LOCKSTEP_NODE_RANK > 0)) || return 0
  find_leader
  say "waiting for the leader's engine on $leader port $LOCKSTEP_MASTER_PORT (at most $LOCKSTEP_STARTUP_SECONDS s)"
  until leader_answers 2>/dev/null; do
    ((SECONDS - began < LOCKSTEP_STARTUP_SECONDS)) ||
      fail "the leader's engine did not open port $LOCKSTEP_MASTER_PORT in $LOCKSTEP_STARTUP_SECONDS s (startup.seconds)"
    sleep 1
  done
}
