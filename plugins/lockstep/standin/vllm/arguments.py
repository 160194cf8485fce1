"""vLLM's command line, with its own spellings: underscores, dotted keys of JSON options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.standin.arguments import ArgumentError, Parser, add_flags

if TYPE_CHECKING:
    import argparse

FLAGS = Path(__file__).with_name("flags.txt")


def build_parser(version: str) -> argparse.ArgumentParser:
    """Return the parser of ``vllm serve`` as that release has it."""
    parser = Parser(prog="vllm serve", usage="vllm serve [model_tag] [options]", add_help=False)
    parser.add_argument("model_tag", nargs="?")
    add_flags(parser, FLAGS, version)
    return parser


def _dashes(argv: list[str]) -> list[str]:
    """Spell ``--max_model_len=1`` as ``--max-model-len=1``, and drop dotted keys of JSON options.

    ``--compilation-config.mode 2`` (also ``-cc.mode=2``) sets one key of a JSON option; the stand-in
    knows the option and needs none of its keys.
    """
    plain: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
            continue
        name, equals, value = word.partition("=")
        if re.fullmatch(r"--?[a-z][\w-]*\.[\w.-]+", name):
            option = name.split(".")[0].replace("_", "-")
            plain += [option, "{}"]
            skip = not equals
            continue
        plain.append((name.replace("_", "-") if word.startswith("--") else name) + equals + value)
    return plain


def parse(argv: list[str], version: str) -> argparse.Namespace:
    """Read the words after ``vllm``.

    Raises
    ------
    ArgumentError
        As the engine's parser would end: an unknown command, an unknown flag, a wrong value.
    """
    if not argv or argv[0] != "serve":
        given = argv[0] if argv else ""
        raise ArgumentError(
            "usage: vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ...\n"
            f"vllm: error: argument subparser: invalid choice: {given!r} (the stand-in has: serve)"
        )
    arguments, unknown = build_parser(version).parse_known_args(_dashes(argv[1:]))
    if unknown:
        raise ArgumentError(
            "usage: vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ...\n"
            f"vllm: error: unrecognized arguments: {' '.join(unknown)}"
        )
    return arguments
