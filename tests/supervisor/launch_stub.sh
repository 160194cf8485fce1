#!/usr/bin/env bash
# Stands in for launch.sh under the supervisor's tests: the same commands, a fake engine.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

case ${1:-} in
  engine)
    [[ ! -e $FAKE_CONTROL/no-command ]] || exit 3
    printf '%s\0' env "FAKE_LEADER=$LOCKSTEP_LEADER_ADDRESS" python3 -S "$FAKE_ENGINE" "${@:2}"
    ;;
  hooks)
    echo "$LOCKSTEP_POD_NAME" >>"$FAKE_CONTROL/hooks-ran"
    [[ ! -e $FAKE_CONTROL/hook-fails ]] || exit 7
    while [[ -e $FAKE_CONTROL/hook-waits ]]; do sleep 0.05; done
    ;;
  facts)
    serves=false
    if ((LOCKSTEP_NODE_RANK == 0)); then serves=true; fi
    printf '%s\n' "ENGINE_VERSION=${FAKE_VERSION:-1.0}" "SERVES_HTTP=$serves" HEALTH_PATH=/health \
      METRICS_PATH=/metrics COMPLETION_PATH=/v1/completions 'PROGRESS_METRIC=fake:tokens_total fake:cache' \
      RUNNING_METRIC=fake:running WAITING_METRIC=fake:waiting
    ;;
  *)
    copy=$(mktemp -d "$FAKE_COPIES/XXXXXX")
    cp -RL "$here"/. "$copy"
    exec python3 "$copy/supervisor.py" -- "$@"
    ;;
esac
