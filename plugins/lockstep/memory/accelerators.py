"""The accelerators that Lockstep knows by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lockstep.plugins import ACCELERATORS, tables
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from lockstep.yamlfile import Values

__all__ = ["Accelerator", "accelerators", "find_accelerator"]

FACTS = Path(__file__).parents[1] / "facts" / "accelerators.yaml"
MIB = 1 << 20


@dataclass(frozen=True)
class Accelerator:
    """One kind of accelerator.

    Parameters
    ----------
    name
        Key of the facts, such as ``h100-80gb``.
    memory
        Bytes that the runtime reports as total.
    node
        Accelerators of the usual node.
    batch_tokens, sequences
        vLLM's defaults of ``max-num-batched-tokens`` and ``max-num-seqs`` on it.
    labels
        Values of node labels that name it.
    """

    name: str
    memory: int
    node: int
    batch_tokens: int
    sequences: int
    labels: tuple[str, ...]


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """Return all rows of the facts; a plug-in's row takes the place of one with its name."""
    rows: dict[str, Values] = {}
    for table in (read(FACTS), *tables(ACCELERATORS)):
        rows.update(cast("dict[str, Values]", table["accelerators"]))
    return tuple(
        Accelerator(
            name=name,
            memory=cast("int", row["memory"]) * MIB,
            node=cast("int", row["node"]),
            batch_tokens=cast("int", row["tokens"]),
            sequences=cast("int", row["sequences"]),
            labels=tuple(cast("list[str]", row["labels"])),
        )
        for name, row in rows.items()
    )


def find_accelerator(name: str) -> Accelerator | None:
    """Look an accelerator up.

    Parameters
    ----------
    name
        Its name in the facts, or a value of a node label.

    Returns
    -------
    Accelerator | None
        None when the facts do not have it.
    """
    wanted = name.lower()
    return next(
        (a for a in accelerators() if wanted == a.name or wanted in (label.lower() for label in a.labels)), None
    )
