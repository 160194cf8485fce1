"""``lockstep check``: the findings of one or more values files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep import inputs, report
from lockstep.checks import run as run_checks
from lockstep.errors import UsageError
from lockstep.findings import has_errors

if TYPE_CHECKING:
    import argparse

    from lockstep.findings import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)
    parser.add_argument(
        "--manifests",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        help="Kubernetes objects, also of other charts: engine commands in them are found and checked; - is stdin",
    )
    forms = "; ".join(f"{form}: {use}" for form, use in report.FORMS.items())
    parser.add_argument("--output", choices=report.FORMS, default="text", help=f"form of the output ({forms})")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a warning, too")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if one fails the check, else 0."""
    if not args.files and not args.manifests:
        raise UsageError("check needs a FILE: one of values, or one of Kubernetes objects after --manifests")
    reports = [(given.file, run_checks(given)) for given in inputs.from_arguments(args)]
    reports += [(file, _manifests(file)) for file in args.manifests]
    print(report.write(args.output, reports, strict=args.strict, colour=sys.stdout.isatty()))
    return int(any(has_errors(findings, strict=args.strict) for _, findings in reports))


def _manifests(file: Path) -> list[Finding]:
    from lockstep.manifests.check import check  # a check of values does without it

    return check(file)
