"""``lockstep check``: the findings of one or more values files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockstep import inputs, report
from lockstep.checks import run as run_checks
from lockstep.findings import has_errors

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)
    forms = "; ".join(f"{form}: {use}" for form, use in report.FORMS.items())
    parser.add_argument("--output", choices=report.FORMS, default="text", help=f"form of the output ({forms})")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a warning, too")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if one fails the check, else 0."""
    reports = [(given.file, run_checks(given)) for given in inputs.from_arguments(args)]
    print(report.write(args.output, reports, strict=args.strict, colour=sys.stdout.isatty()))
    return int(any(has_errors(findings, strict=args.strict) for _, findings in reports))
