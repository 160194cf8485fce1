"""``lockstep check``: the findings of values files and of manifests, also against a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep import inputs, report
from lockstep.checks import run as run_checks
from lockstep.errors import UsageError, ValuesError
from lockstep.findings import Finding, has_errors

if TYPE_CHECKING:
    import argparse

    from lockstep.inputs import Input
    from lockstep.live.cluster import Cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)
    parser.add_argument(
        "--clusters",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        help="where a FILE is a folder of Argo CD objects: Secrets of clusters that do not lie in it",
    )
    parser.add_argument(
        "--manifests",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        help="Kubernetes objects, also of other charts: engine commands in them are found and checked; - is stdin",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="compare with the cluster that kubectl reaches, too: kinds, nodes, queues, claims; it only reads",
    )
    parser.add_argument("--context", metavar="NAME", help="with --live: the context of kubectl's configuration")
    forms = "; ".join(f"{form}: {use}" for form, use in report.FORMS.items())
    parser.add_argument("--output", choices=report.FORMS, default="text", help=f"form of the output ({forms})")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a warning, too")


def run(args: argparse.Namespace) -> int:
    """Print the findings; returns 1 if one fails the check, else 0."""
    if not args.files and not args.manifests:
        raise UsageError("check needs a FILE: one of values, or one of Kubernetes objects after --manifests")
    folders = [file for file in args.files if file.is_dir()]
    args.files = [file for file in args.files if file not in folders]
    if not args.files:
        inputs.refuse_options_of_files(args, "and there is none among the FILEs")
    if args.clusters and not folders:
        raise UsageError("--clusters goes with a folder of Argo CD objects, and there is none among the FILEs")
    if args.context is not None and not args.live:
        raise UsageError("--context goes with --live")
    cluster = _reach(args.context) if args.live else None
    reports = [(given.file, _release(given, cluster)) for given in inputs.from_arguments(args)]
    reports += [(file, _manifests(file, args.namespace, cluster)) for file in args.manifests]
    reports += [each for folder in folders for each in _fleet(folder, args.clusters)]
    print(report.write(args.output, reports, strict=args.strict, colour=sys.stdout.isatty()))
    return int(any(has_errors(findings, strict=args.strict) for _, findings in reports))


def _release(given: Input, cluster: Cluster | None) -> list[Finding]:
    found = run_checks(given)
    if cluster is None or has_errors(found):  # what the chart refuses has no objects to compare
        return found
    from lockstep import render  # a check without a cluster imports nothing of this
    from lockstep.live.check import check

    return found + check(render.objects(given), given.namespace, cluster)


def _manifests(file: Path, namespace: str, cluster: Cluster | None) -> list[Finding]:
    from lockstep.manifests import read
    from lockstep.manifests.check import check

    try:
        objects = read.objects(file)
    except ValuesError as error:
        return [Finding("VAL001", "", str(error), "Mend the file; kubectl may not notice this.")]
    found = check(objects)
    if cluster is None:
        return found
    from lockstep.live.check import check as compare

    return found + compare(objects, namespace, cluster)


def _reach(context: str | None) -> Cluster:
    from lockstep.live.cluster import Cluster
    from lockstep.live.kubectl import find

    return Cluster(find(context))


def _fleet(folder: Path, clusters: list[Path]) -> list[tuple[Path, list[Finding]]]:
    from lockstep.gitops import check  # a check of values does without it

    return check.run(folder, clusters)
