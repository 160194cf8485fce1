"""``lockstep explain``: why a finding matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep import codes, explain

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="a finding's code, like PAR001; all are listed without")


def run(args: argparse.Namespace) -> int:
    """Print the page of one code or the list of all; returns 0."""
    print(explain.listing() if args.code is None else explain.page(codes.find(args.code)))
    return 0
