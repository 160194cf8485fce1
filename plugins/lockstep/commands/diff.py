"""``lockstep diff``: what a change of values does to groups that run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from lockstep import inputs, outputs, render
from lockstep.diff import terminal
from lockstep.diff.change import describe, rest
from lockstep.diff.groups import find
from lockstep.diff.page import page
from lockstep.diff.steps import tracks
from lockstep.errors import UsageError
from lockstep.release import build

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)
    parser.add_argument(
        "--git",
        metavar="BASE",
        help="FILE is a folder of Argo CD objects: compare it with this commit, tag or branch",
    )
    parser.add_argument(
        "--clusters",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        help="with --git: Secrets of clusters that do not lie in the folder",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a picture of the steps, too: one HTML file")


def run(args: argparse.Namespace) -> int:
    """Print what happens from the first file to the second, as one release, or since a commit; returns 0."""
    if args.git is not None:
        if args.html is not None:
            raise UsageError("--html draws the change of one release; it does not go with --git")
        inputs.refuse_options_of_files(args, "and --git compares a folder, which names its own")
        return _since(args.files, args.git, args.clusters)
    if args.clusters:
        raise UsageError("--clusters goes with --git")
    if args.html is not None:
        outputs.require_writable(args.html)
    given = inputs.from_arguments(args)
    if len(given) != 2:
        raise UsageError(f"diff takes two values files, how it is and how it will be; {len(given)} were given")
    before, after = (replace(each, name=given[0].name) for each in given)
    objects = render.objects(before), render.objects(after)
    if not find([*objects[0], *objects[1]]):  # charts/queues has none, nor the facts that a release is read with
        sentences, shown = list(rest(*objects)) or ["No object changes."], []
    else:
        release = build(after, after.values())
        sentences, shown = list(describe(*objects, release)), tracks(*objects, release)
    print("\n".join(sentences))
    if any(len(set(row.states)) > 1 for track in shown for row in track.rows):
        print()
        Console(highlight=False).print(terminal.render(shown))
    if args.html is not None:
        outputs.write(args.html, page(before.name, sentences, shown))
        print(f"{args.html}: written")
    return 0


def _since(folders: list[Path], base: str, clusters: list[Path]) -> int:
    from lockstep.gitops import changes  # a comparison of two files does without it

    if len(folders) != 1 or not folders[0].is_dir():
        raise UsageError("diff --git takes one FILE, the folder of Argo CD objects")
    print("\n".join(changes.since(folders[0], base, clusters)))
    return 0
