#!/usr/bin/env bash
# The first program of every engine container, on every stack.
#
#   launch.sh [engine arguments]         check, then become the supervisor (or the engine itself)
#   launch.sh engine [engine arguments]  print this rank's command, NUL-separated
#   launch.sh hooks                      run the preLaunch hooks, in order, fail closed
#   launch.sh facts                      print what the supervisor must know of the engine, KEY=VALUE
#   launch.sh alive                      a worker's liveness where there is no supervisor
#   launch.sh outlast                    a worker's preStop there: return when the leader serves no more
#
# All it knows comes from the LOCKSTEP_* variables of lib/contract.sh; it names no orchestrator. Some need not be set:
# EXECUTOR (mp, ray), LOAD_BALANCING (internal, hybrid, external), EXPERT (size; 1 is none), SSH_KEY (file), SSH_PORT.
set -euo pipefail

# A ConfigMap volume changes under a running pod by moving a link: follow it once, so that all
# files come from one revision.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# shellcheck source=charts/serving/files/launch/lib/steps.sh
source "$here/lib/steps.sh"
obey_term # process 1 has no default action for TERM, and a start may take long
# shellcheck source=charts/serving/files/launch/lib/contract.sh
source "$here/lib/contract.sh"
# shellcheck source=charts/serving/files/launch/lib/network.sh
source "$here/lib/network.sh"
# shellcheck source=charts/serving/files/launch/lib/leader.sh
source "$here/lib/leader.sh"
# shellcheck source=charts/serving/files/launch/lib/version.sh
source "$here/lib/version.sh"
check_contract
# shellcheck source=charts/serving/files/launch/engines/vllm.sh
source "$here/engines/$LOCKSTEP_ENGINE.sh"

# Without a supervisor: hooks, then the engine in this very process.
become_engine() {
  step bash "$copy/launch.sh" hooks
  leads || step wait_for_leader_port
  step bash "$copy/launch.sh" engine "$@" >"$copy/command"
  mapfile -d '' -t command <"$copy/command"
  become "${command[@]}"
}

launch() {
  use_interface
  engine_environment
  # All its life this container runs the files it started with; the supervisor compares them with these.
  LOCKSTEP_LAUNCH_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -L)
  export LOCKSTEP_LAUNCH_DIR
  copy=$(mktemp -d "${TMPDIR:-/tmp}/lockstep.XXXXXX")
  cp -R "$here"/* "$copy"
  : >"$copy/engine-version"
  if [[ $LOCKSTEP_SUPERVISOR == true ]]; then
    exec python3 "$copy/supervisor.py" -- "$@"
  fi
  become_engine "$@"
}

run_hooks() {
  # A hook may change the engine: what is remembered of it counts no more.
  [[ ! -f $here/engine-version ]] || : >"$here/engine-version"
  exec python3 "$here/lib/hooks.py"
}

print_command() {
  engine_command "$@"
  python3 "$here/lib/show.py" "${command[@]}" >&2
  printf '%s\0' "${command[@]}"
}

case ${1:-} in
  '' | -*) launch "$@" ;;
  engine) print_command "${@:2}" ;;
  hooks) run_hooks ;;
  facts) engine_facts ;;
  alive) check_alive ;;
  outlast) outlast_leader ;;
  *) fail "'$1' is no command of launch.sh: engine, hooks, facts, alive, outlast, or engine arguments, which begin with -" ;;
esac
