"""``vllm``, as far as a launch script knows it: ``vllm --version`` and ``vllm serve``."""

from __future__ import annotations

import sys
import time

from lockstep.standin import settings
from lockstep.standin.arguments import ArgumentError
from lockstep.standin.layout import ConfigError
from lockstep.standin.log import say
from lockstep.standin.settings import Settings
from lockstep.standin.vllm.arguments import parse
from lockstep.standin.vllm.config import layout as layout_of


def main(argv: list[str]) -> int:
    """Run the command line; return the exit code that the real engine would end with."""
    try:
        chosen = Settings.from_environment()
    except settings.SettingError as fault:
        sys.stderr.write(f"stand-in: {fault}\n")
        return 2
    if argv in (["--version"], ["-v"]):
        time.sleep(chosen.version_seconds)
        sys.stdout.write(f"{chosen.version}\n")
        return 0
    time.sleep(chosen.import_seconds)
    try:
        arguments = parse(argv, chosen.version)
    except ArgumentError as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    try:
        layout = layout_of(arguments, chosen)
    except ConfigError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    say("main", f"stand-in for vLLM {chosen.version}: no model is loaded, answers are made up")
    if arguments.headless or layout.node_rank > 0:
        from lockstep.standin.vllm.headless import run_headless

        return run_headless(arguments, layout, chosen)
    from lockstep.standin.vllm.leader import run_leader

    return run_leader(arguments, layout, chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
