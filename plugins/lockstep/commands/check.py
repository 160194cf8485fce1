"""``lockstep check``: the findings of one or more values files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockstep import inputs
from lockstep.checks import run as run_checks
from lockstep.findings import has_errors, to_json
from lockstep.report import to_text

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the output")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a warning, too")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if one fails the check, else 0."""
    reports = [(given.file, run_checks(given)) for given in inputs.from_arguments(args)]
    print(to_json(reports) if args.output == "json" else to_text(reports, colour=sys.stdout.isatty()))
    return int(any(has_errors(findings, strict=args.strict) for _, findings in reports))
