"""An engine's command line from a table of its flags: those of one release, refused in the engine's own words."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Version = tuple[int, ...]


class ArgumentError(ValueError):
    """A command line that the engine's own parser refuses; the text is what it prints."""


def version_tuple(text: str) -> Version:
    """Return ``0.11.1`` as ``(0, 11, 1)``; what follows the numbers does not count."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


class Parser(argparse.ArgumentParser):
    """A parser that raises; ``usage`` is the first line of what it prints."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises
        ------
        ArgumentError
            Always.
        """
        raise ArgumentError(f"usage: {self.usage}\n{self.prog}: error: {message}")


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
    elif kind == "maybe":
        parser.add_argument(*names, nargs="?", const="")
    elif kind in READERS:
        parser.add_argument(*names, type=READERS[kind])
    elif "|" in kind:
        parser.add_argument(*names, choices=kind.split("|"))
    else:
        parser.add_argument(*names)


def add_flags(parser: argparse.ArgumentParser, table: Path, version: str) -> None:
    """Give a parser the flags that a release has.

    Parameters
    ----------
    parser : ArgumentParser
        Of the engine.
    table : Path
        A line for each flag: names, kind, first release with it, first without.
    version : str
        The release.
    """
    here = version_tuple(version)
    for line in table.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, kind, since, until = line.split()
        if since != "-" and here < version_tuple(since):
            continue
        if until != "-" and here >= version_tuple(until):
            continue
        _add(parser, names.split(","), kind)
