"""``lockstep rehearse``: run the rendered group on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from lockstep import inputs, outputs, render
from lockstep.checks import run as run_checks
from lockstep.codes import Severity
from lockstep.errors import LockstepError, UsageError
from lockstep.rehearse import faults, picture
from lockstep.rehearse.completion import PROMPT
from lockstep.rehearse.launcher import listen, rehearse
from lockstep.rehearse.plan import Plan
from lockstep.report import to_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=False)
    parser.add_argument(
        "--engine",
        choices=("standin", "real"),
        default="standin",
        help="what runs under the engine's name: a stand-in without a model (default), or the engine of this machine",
    )
    parser.add_argument(
        "--kill",
        metavar="ROLE[-INDEX]@SECONDS",
        type=str,
        action="append",
        default=[],
        help="SIGKILL the engine of a rank so many seconds after the group was Ready, like worker@5 (repeatable)",
    )
    kinds = "; ".join(f"{kind}: {does}" for kind, does in faults.KINDS.items())
    parser.add_argument(
        "--fault",
        metavar="FAULT",
        action="append",
        default=[],
        help='"KIND ROLE[-INDEX]@SECONDS [for=SECONDS] [code=N] [what=engine|supervisor|container]" '
        f"(repeatable), or a YAML file with a list of them. {kinds}",
    )
    parser.add_argument("--keep", action="store_true", help="go on serving until Ctrl-C")
    parser.add_argument(
        "--port", type=_port, default=0, help="with --keep: port on 127.0.0.1 that leads to the Service"
    )
    parser.add_argument(
        "--network", choices=("auto", "namespaces", "loopback"), default="auto", help="where pods get their addresses"
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=300,
        metavar="SECONDS",
        help="to Ready, and again after faults (%(default)s)",
    )
    parser.add_argument("--prompt", default=PROMPT, help="what the chat completion asks")
    parser.add_argument(
        "--picture", metavar="FILE", type=Path, help="draw the timeline: .svg, or .html with all events"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document at the end, and nothing else")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it must be from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of seconds above 0")
    return seconds


def run(args: argparse.Namespace) -> int:
    """Rehearse; returns 0 when the group answered, also after the faults, and 1 when the checks find an error.

    Raises
    ------
    LockstepError
        When the rehearsal could not be held.
    """
    (given,) = inputs.from_arguments(args)
    if args.port and not args.keep:
        raise UsageError("--port goes with --keep")
    if args.picture is not None:
        if args.picture.suffix not in (".svg", ".html"):
            raise UsageError(f"--picture {args.picture}: draws a file that ends in .svg or .html")
        outputs.require_writable(args.picture)
    script = [faults.parse_kill(text) for text in args.kill]
    for text in args.fault:
        path = Path(text)
        script += faults.read_faults(path) if path.suffix in (".yaml", ".yml") else [faults.parse_fault(text)]
    refused = [finding for finding in run_checks(given) if finding.severity is Severity.ERROR]
    if refused:
        print(to_text([(given.file, refused)], colour=sys.stderr.isatty()), file=sys.stderr)
        return 1
    plan = Plan(
        objects=render.objects(given),
        namespace=given.namespace,
        prompt=args.prompt,
        engine=args.engine,
        faults=tuple(script),
        timeout=args.timeout,
        keep=args.keep,
        quiet=args.json,
        forward=os.dup(listen(args.port).detach()) if args.keep else None,
    )
    report = rehearse(plan, args.network)
    if args.picture is not None:
        outputs.write(args.picture, picture.draw(report) if args.picture.suffix == ".svg" else picture.page(report))
    if args.json:
        print(report.to_json())
    elif report.exit_code == 2:
        raise LockstepError(report.error)
    elif report.ok:
        again = f", serving again {report.recovered_seconds} s after the last fault" * bool(report.recovered_seconds)
        print(f"rehearsal: Ready after {report.ready_seconds} s, answered after {report.answered_seconds} s{again}")
    elif report.error != "stopped":
        raise RehearsalFailedError(report.error)
    return report.exit_code


class RehearsalFailedError(LockstepError):
    """The group failed in its rehearsal."""

    exit_code = 1
