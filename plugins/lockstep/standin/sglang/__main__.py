"""``sglang serve``, ``sglang version`` and ``python -m sglang.launch_server``."""

from __future__ import annotations

import sys
import time

from lockstep.standin import settings
from lockstep.standin.arguments import ArgumentError
from lockstep.standin.layout import ConfigError
from lockstep.standin.log import say
from lockstep.standin.settings import Settings
from lockstep.standin.sglang.arguments import parse
from lockstep.standin.sglang.config import layout as layout_of


def main(argv: list[str]) -> int:
    """Run the command ``sglang``; return its exit code."""
    if argv[:1] == ["version"]:
        sys.stdout.write(f"sglang version: {Settings.from_environment().version}\ngit revision: unknown\n")
        return 0
    if argv[:1] != ["serve"]:
        sys.stderr.write("usage: sglang [-h] {serve,generate,version} ...\n")
        sys.stderr.write(f"sglang: error: argument subcommand: invalid choice: {argv[:1]} (the stand-in has: serve)\n")
        return 2
    return serve(argv[1:], "sglang")


def serve(argv: list[str], program: str) -> int:
    """Be this node's part of a group; return its exit code."""
    try:
        chosen = Settings.from_environment()
        time.sleep(chosen.import_seconds)
        arguments = parse(argv, chosen.version, program)
        layout = layout_of(arguments, chosen)
    except settings.SettingError as fault:
        sys.stderr.write(f"stand-in: {fault}\n")
        return 2
    except ArgumentError as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    except ConfigError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    say("main", f"stand-in for SGLang {chosen.version}: no model is loaded, answers are made up")
    if layout.node_rank > 0:
        from lockstep.standin.sglang.follower import run_follower

        return run_follower(arguments, layout, chosen)
    from lockstep.standin.sglang.server import run_leader

    return run_leader(arguments, layout, chosen)
