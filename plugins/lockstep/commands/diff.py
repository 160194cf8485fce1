"""``lockstep diff``: what a change of values does to groups that run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep import inputs, render
from lockstep.diff.change import describe
from lockstep.errors import UsageError
from lockstep.release import build

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    inputs.add_arguments(parser, several=True)


def run(args: argparse.Namespace) -> int:
    """Print what happens from the first file to the second, as one release; returns 0."""
    given = inputs.from_arguments(args)
    if len(given) != 2:
        raise UsageError(f"diff takes two values files, how it is and how it will be; {len(given)} were given")
    before, after = (replace(each, name=given[0].name) for each in given)
    objects = render.objects(before), render.objects(after)
    for sentence in describe(*objects, build(after, after.values())):
        print(sentence)
    return 0
