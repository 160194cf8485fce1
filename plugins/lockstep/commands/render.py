"""``lockstep render``: print the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep import inputs, render

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=False)
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        dest="settings",
        action="append",
        default=[],
        help="a value above every file, as Helm's option of this name (repeatable)",
    )


def run(args: argparse.Namespace) -> int:
    """Print what Helm renders; returns 0."""
    (given,) = inputs.from_arguments(args)
    print(render.manifests(given, args.settings), end="")
    return 0
