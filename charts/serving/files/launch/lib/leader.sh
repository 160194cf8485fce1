# Where the leader of this group is, and whether it is there. Sourced by launch.sh.
# shellcheck shell=bash

# Prints the leader's address in the family of this pod's own, or fails.
look_up_leader() {
  local name=$LOCKSTEP_LEADER_ADDRESS database=ahostsv4
  if is_ipv6 "$name" || [[ $name =~ ^[0-9.]+$ ]]; then
    printf '%s' "$name"
    return
  fi
  if is_ipv6 "$LOCKSTEP_POD_IP"; then database=ahostsv6; fi
  # ahostsv6 maps a name that has no IPv6 address into ::ffff:0:0/96.
  getent "$database" "$name" | awk '$1 !~ /^::ffff:/ { print $1; found = 1; exit } END { exit !found }'
}

know_leader() { leader=$(look_up_leader); }

# leader_answers PORT...: whether one of these ports of the leader takes a connection.
leader_answers() {
  python3 - "$leader" "$@" <<'PYTHON'
import socket
import sys

address, *ports = sys.argv[1:]
for port in ports:
    try:
        socket.create_connection((address, int(port)), timeout=2).close()
        break
    except OSError as error:
        reason = error
else:
    sys.exit(f"lockstep: the leader does not answer on {address} port {' or '.join(ports)}: {reason}")
PYTHON
}

# A worker's liveness: asks once, kubelet counts.
check_alive() {
  know_leader || fail "the leader's name $LOCKSTEP_LEADER_ADDRESS does not resolve"
  # Some engines close the port of their rendezvous when it is done.
  leader_answers "$LOCKSTEP_MASTER_PORT" "$LOCKSTEP_PORT"
}

# A worker's preStop: a running request needs every rank, so none ends while the leader still drains.
outlast_leader() {
  local end=$((SECONDS + LOCKSTEP_PROPAGATION_SECONDS + LOCKSTEP_DRAIN_SECONDS))
  while ((SECONDS < end)) && know_leader && leader_answers "$LOCKSTEP_PORT"; do sleep 1; done
}

# await WHAT COMMAND...: tries once a second, as long as a start may last. A worker that gives up
# earlier makes the stack recreate a group whose leader is only pending (kubernetes-sigs/lws#746).
await() {
  local began=$SECONDS told=-10 waited
  until "${@:2}" 2>/dev/null; do
    waited=$((SECONDS - began))
    ((waited < LOCKSTEP_STARTUP_SECONDS)) || return 1
    if ((waited - told >= 10)); then
      say "waiting for the leader: $1 yet ($waited of $LOCKSTEP_STARTUP_SECONDS s)"
      told=$waited
    fi
    sleep 1
  done
}

# Sets `leader`; rank 0 is it.
find_leader() {
  leader=$LOCKSTEP_POD_IP
  leads || await "$LOCKSTEP_LEADER_ADDRESS does not resolve" know_leader ||
    fail "the leader's name $LOCKSTEP_LEADER_ADDRESS did not resolve in $LOCKSTEP_STARTUP_SECONDS s" \
      "(startup.seconds): is the leader pod scheduled, and does its Service publish addresses that are not ready?"
}

leader_gathers() { know_leader && leader_answers "$LOCKSTEP_MASTER_PORT"; }

# A worker's engine gives up on its leader after minutes; the leader's image may take an hour. The
# leader may be replaced meanwhile, so its name is looked up each time.
wait_for_leader_port() {
  await "$LOCKSTEP_LEADER_ADDRESS does not answer on port $LOCKSTEP_MASTER_PORT" leader_gathers ||
    fail "the leader's engine did not open port $LOCKSTEP_MASTER_PORT in $LOCKSTEP_STARTUP_SECONDS s (startup.seconds)"
}
