#!/usr/bin/env bash
# Starts process 1 of a container and ends with its code; 128 and the number for a signal.
#
#   enter.sh FOLDER COMMAND...     inside fresh pid and mount namespaces
#
# `unshare --fork` would say 1 for a process that was killed.
set -m # else the child would ignore SIGINT

cd "$1" || exit
(mount -t proc proc /proc && exec "${@:2}") &
wait "$!"
