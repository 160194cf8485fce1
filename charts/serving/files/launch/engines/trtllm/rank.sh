#!/usr/bin/env bash
# What rank 0 runs for trtllm-llmapi-launch, which splits the words of its own command again: a file
# holds the words as they were. When the server ends, so does the whole MPI job.
set -uo pipefail

mapfile -d '' -t command <"$1"
"${command[@]}"
code=$?
printf 'lockstep: trtllm-serve ended with exit code %s\n' "$code" >&2
kill -TERM "$LOCKSTEP_MPIRUN"
exit "$code"
