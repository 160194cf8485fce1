"""SGLang's command line: ``sglang serve`` and ``python -m sglang.launch_server`` take the same flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.standin.arguments import ArgumentError, Parser, add_flags

if TYPE_CHECKING:
    import argparse

FLAGS = Path(__file__).with_name("flags.txt")


def parse(argv: list[str], version: str, program: str) -> argparse.Namespace:
    """Read the words after ``serve``.

    Raises
    ------
    ArgumentError
        As SGLang's parser would end.
    """
    parser = Parser(prog=program, usage=f"{program} [-h] --model-path MODEL_PATH [options]", add_help=False)
    add_flags(parser, FLAGS, version)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        raise ArgumentError(f"usage: {parser.usage}\n{program}: error: unrecognized arguments: {' '.join(unknown)}")
    if arguments.model_path is None:
        parser.error("the following arguments are required: --model-path/--model")
    return arguments
