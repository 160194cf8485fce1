"""The objects of a file of manifests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockstep.errors import UsageError
from lockstep.rehearse import tree
from lockstep.yamlfile import parse_all

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.rehearse.tree import Node


def objects(file: Path) -> list[Node]:
    """Read the objects of a file, those inside a List included; standard input can be read once.

    Parameters
    ----------
    file : Path
        The file; ``-`` is standard input.

    Returns
    -------
    list of Node
        In the order of the file.

    Raises
    ------
    UsageError
        If the file cannot be read.
    ValuesError
        If a document in it is not one YAML mapping.
    """
    return [item for document in parse_all(_text(file)) for item in _members(document)]


def _members(document: Node) -> list[Node]:
    return tree.items(document, "items") if str(document.get("kind", "")).endswith("List") else [document]


def _text(file: Path) -> str:
    try:
        if str(file) != "-":
            content = file.read_bytes()
        elif sys.stdin is None:
            raise UsageError("-: standard input is closed")
        else:
            content = sys.stdin.buffer.read()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text") from None
