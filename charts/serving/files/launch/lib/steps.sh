# How a script that is process 1 obeys TERM. Sourced by launch.sh and by the scripts that end in an engine.
# shellcheck shell=bash

# Bash runs a trap only after its foreground child has ended, so children run in the background.
step() {
  "$@" &
  child=$!
  wait "$child"
}

obey_term() { trap 'kill "${child:-$$}"; exit 143' TERM INT; }

# The engine replaces the shell, and its own handlers count.
become() {
  trap - TERM INT
  exec "$@"
}
