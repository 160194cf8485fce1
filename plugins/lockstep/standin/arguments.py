"""The engine's command line: flags known per release, refused in argparse's own words (exit code 2)."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS = Path(__file__).with_name("flags.txt")

Version = tuple[int, ...]


class ArgumentError(ValueError):
    """A command line that the engine's own parser refuses; the text is what it prints."""


def version_tuple(text: str) -> Version:
    """Return ``0.11.1`` as ``(0, 11, 1)``; what follows the numbers does not count."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"usage: {self.prog} [model_tag] [options]\n{self.prog}: error: {message}")


def _size(text: str) -> int:
    """Read ``32768``, ``32k`` (thousands) or ``32K`` (1024s), as --max-model-len takes them."""
    factors = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kmgKMG]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"invalid size: {text!r}")
    return int(float(found[1]) * factors.get(found[2], 1))


READERS: dict[str, Callable[[str], object]] = {"int": int, "float": float, "json": json.loads, "size": _size}


def _add(parser: argparse.ArgumentParser, names: list[str], kind: str) -> None:
    if kind == "bare":
        parser.add_argument(*names, action="store_true")
    elif kind == "switch":
        parser.add_argument(*names, action=argparse.BooleanOptionalAction)
    elif kind == "list":
        parser.add_argument(*names, nargs="+")
    elif kind in READERS:
        parser.add_argument(*names, type=READERS[kind])
    elif "|" in kind:
        parser.add_argument(*names, choices=kind.split("|"))
    else:
        parser.add_argument(*names)


def build_parser(version: str) -> argparse.ArgumentParser:
    """Return the parser of ``vllm serve`` as that release has it."""
    parser = _Parser(prog="vllm serve", add_help=False)
    parser.add_argument("model_tag", nargs="?")
    here = version_tuple(version)
    for line in FLAGS.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, kind, since, until = line.split()
        if since != "-" and here < version_tuple(since):
            continue
        if until != "-" and here >= version_tuple(until):
            continue
        _add(parser, names.split(","), kind)
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
