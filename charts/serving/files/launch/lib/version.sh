# The engine's version, and what it decides. Sourced by launch.sh.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's

need() { command -v "$1" >/dev/null || fail "there is no '$1' in this image: engine.image must hold $LOCKSTEP_ENGINE"; }

# interpreter_of COMMAND: the Python under which an installed command runs.
interpreter_of() {
  local first=
  { IFS= read -r first <"$(command -v "$1")"; } 2>/dev/null || first=
  if [[ $first == '#!'*/python* ]]; then printf '%s' "${first#'#!'}"; else printf python3; fi
}

# installed_version DISTRIBUTION COMMAND: from the metadata, without an import of the engine.
installed_version() {
  "$(interpreter_of "$2")" -c '
import importlib.metadata, sys
try:
    sys.stdout.write(importlib.metadata.version(sys.argv[1]))
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)' "$1"
}

# asked_version COMMAND...: the same from the engine itself, which may take half a minute of imports.
asked_version() { "$@" 2>/dev/null | grep -E '^([a-z]+ version: )?[0-9]+\.[0-9]' | tail -n 1; }

# engine_version DISTRIBUTION COMMAND...: as X.Y.Z, or empty where nobody knows. A private copy keeps
# what was found.
engine_version() {
  local memory=$here/engine-version found
  if [[ -s $memory ]]; then
    found=$(<"$memory")
  else
    found=$(installed_version "$1" "$2") || found=$(asked_version "${@:2}") ||
      say "'${*:2}' prints no version: flags that need one are left out"
    [[ ! -f $memory ]] || printf '%s' "$found" >"$memory"
  fi
  grep -Eom1 '[0-9]+\.[0-9]+(\.[0-9]+)?' <<<"$found" || [[ -z $found ]]
}

# at_least WANTED VERSION: whether VERSION is known and not older.
at_least() { [[ -n $2 ]] && printf '%s\n' "$1" "$2" | sort --version-sort --check=quiet; }
