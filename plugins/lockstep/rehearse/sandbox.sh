#!/usr/bin/env bash
# What a pod's containers share, held until it is killed: network, names, shared memory.
#
#   sandbox.sh HOSTS SHM_SIZE HOSTNAME     inside fresh net, mount, ipc and uts namespaces
set -euo pipefail

hosts=$1 size=$2 name=$3

mount --bind "$hosts" /etc/hosts
if [[ -d /dev/shm ]]; then
  mount -t tmpfs -o "size=$size,mode=1777" tmpfs /dev/shm
fi
hostname "$name"
echo ready
exec sleep infinity
