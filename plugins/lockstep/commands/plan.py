"""``lockstep plan``: a layout as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from lockstep import inputs, outputs
from lockstep.checks import schema
from lockstep.plan.page import page
from lockstep.plan.source import pictures
from lockstep.plan.terminal import render
from lockstep.release import build

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=False)
    parser.add_argument(
        "--compare",
        metavar="TENSORxPIPELINE[xDATA]",
        action="append",
        default=[],
        help="another layout to show beside the file's own, like 16x1 or 8x1x2 (repeatable)",
    )
    parser.add_argument("--accelerator", metavar="NAME", help="accelerator, in place of what the node selector says")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write one HTML file instead of printing")


def run(args: argparse.Namespace) -> int:
    """Print or write the picture; returns 0, or 1 if the values do not fit the schema."""
    (given,) = inputs.from_arguments(args)
    if args.html is not None:
        outputs.require_writable(args.html)
    values = given.values()
    unfit = list(schema.check(given.chart, values))
    if unfit:
        print(f"{given.file}: {unfit[0].message}. {unfit[0].fix}\n`lockstep check` says all of it.")
        return 1
    shown = pictures(build(given, values), args.compare, args.accelerator)
    if args.html is None:
        Console(highlight=False).print(render(shown))
        return 0
    outputs.write(args.html, page(shown))
    print(f"{args.html}: written")
    return 0
