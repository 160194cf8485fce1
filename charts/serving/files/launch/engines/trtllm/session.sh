#!/usr/bin/env bash
# What an ssh session of this pod runs: the wanted command, in the environment of the container.
set -euo pipefail

while IFS= read -r -d '' variable; do
  case ${variable%%=*} in
    *[!A-Za-z0-9_]* | SSH_* | SHLVL | SHELLOPTS | BASHOPTS | UID | EUID | PPID | _) ;;
    *) export "${variable?}" ;;
  esac
done <"$1"
exec bash -c "${SSH_ORIGINAL_COMMAND:?this key opens no shell}"
