# Which interface this pod has, and which address it serves on. Sourced by launch.sh.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's

is_ipv6() { [[ $1 == *:* ]]; }

# The address to serve HTTP on: every address of the family that the pod has.
bind_address() {
  local every=0.0.0.0
  if is_ipv6 "$LOCKSTEP_POD_IP"; then every=::; fi
  printf '%s' "${LOCKSTEP_BIND:-$every}"
}

# Names the pod's interface to the libraries that would else pick one by themselves. Gloo takes one
# real name; NCCL also knows lists and exclusions, so what the user gave it stays.
use_interface() {
  local interface name
  if [[ ${GLOO_SOCKET_IFNAME:-} == *[,^=]* ]]; then
    fail "GLOO_SOCKET_IFNAME is '$GLOO_SOCKET_IFNAME': Gloo takes the name of one interface, no list and no" \
      "exclusion (that is NCCL's syntax). Set network.interface instead."
  fi
  interface=$(python3 "$here/lib/interface.py" "$LOCKSTEP_POD_IP" "${LOCKSTEP_INTERFACE:-}") || exit
  for name in GLOO_SOCKET_IFNAME NCCL_SOCKET_IFNAME HCCL_SOCKET_IFNAME NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME; do
    export "$name=${!name:-$interface}"
  done
}
