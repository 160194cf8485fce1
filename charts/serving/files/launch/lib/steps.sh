# How a script that is process 1 obeys TERM. Sourced by launch.sh and by the scripts that end in an engine.
# shellcheck shell=bash

# Bash runs a trap only after its foreground child has ended, so children run in the background.
step() {
  "$@" &
  wait "$!"
}

stop_steps() {
  local running
  mapfile -t running < <(jobs -pr)
  ((${#running[@]} == 0)) || kill "${running[@]}"
  exit 143
}

obey_term() { trap stop_steps TERM INT; }

# The engine replaces the shell, and its own handlers count.
become() {
  trap - TERM INT
  exec "$@"
}
