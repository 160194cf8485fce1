"""The command line of ``trtllm-serve``, refused as click refuses (exit code 2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.standin.arguments import ArgumentError, Parser, add_flags

if TYPE_CHECKING:
    import argparse

FLAGS = Path(__file__).with_name("flags.txt")
USAGE = "Usage: trtllm-serve serve [OPTIONS] MODEL\nTry 'trtllm-serve serve --help' for help.\n\nError: "


def parse(argv: list[str], version: str) -> argparse.Namespace:
    """Read the words after ``trtllm-serve``; ``serve`` is the command where none is named.

    Raises
    ------
    ArgumentError
        As click would end.
    """
    parser = Parser(prog="trtllm-serve", add_help=False, allow_abbrev=False)
    parser.add_argument("model", nargs="?")
    add_flags(parser, FLAGS, version)
    try:
        arguments, unknown = parser.parse_known_args(argv[1:] if argv[:1] == ["serve"] else argv)
    except ArgumentError as fault:
        raise ArgumentError(USAGE + str(fault).partition("error: ")[2]) from None
    if unknown:
        raise ArgumentError(f"{USAGE}No such option: {unknown[0].split('=')[0]}")
    if arguments.model is None:
        raise ArgumentError(f"{USAGE}Missing argument 'MODEL'.")
    return arguments
