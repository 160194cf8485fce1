# The engine's version, and what it decides. Sourced by launch.sh.
# shellcheck shell=bash disable=SC2154 # `here` is launch.sh's

# engine_version COMMAND...: the version that the engine's own command prints, as X.Y.Z; empty when
# it prints none. The command imports the whole engine, so a private copy keeps the answer.
engine_version() {
  local memory=$here/engine-version answer
  if [[ ! -s $memory ]]; then
    command -v "$1" >/dev/null || fail "there is no '$1' in this image: engine.image must hold $LOCKSTEP_ENGINE"
    answer=$("$@" 2>/dev/null | grep -Eo '^[0-9]+\.[0-9]+(\.[0-9]+)?' | tail -n 1) ||
      say "'$*' prints no version: flags that need one are left out"
    [[ ! -f $memory ]] || printf '%s' "$answer" >"$memory"
  else
    answer=$(<"$memory")
  fi
  printf '%s' "$answer"
}

# at_least WANTED VERSION: whether VERSION is known and not older.
at_least() { [[ -n $2 ]] && printf '%s\n' "$1" "$2" | sort --version-sort --check=quiet; }
