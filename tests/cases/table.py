"""Read the table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockstep.values import stack
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
KEYS = {"id", "source", "values", "text", "name", "expect", "says", "warns"}


@dataclass(frozen=True)
class Case:
    """One row."""

    id: str
    text: str
    name: str
    expect: str | list[str]
    says: list[str]
    warns: list[str] | None


def cases() -> Iterator[Case]:
    """Yield every row of every file."""
    for file in sorted(HERE.glob("*.yaml")):
        table: Any = read(file)
        seen: set[str] = set()
        for row in table["cases"]:
            unknown = row.keys() - KEYS
            assert not unknown, f"{file.name}, {row['id']}: unknown keys {unknown}"
            assert row["id"] not in seen, f"{file.name}: {row['id']} is there twice"
            seen.add(row["id"])
            yield Case(
                f"{file.stem}/{row['id']}",
                row.get("text") or json.dumps(stack([table.get("base", {}), row.get("values") or {}])),
                row.get("name", "demo"),
                row["expect"],
                [str(fragment) for fragment in row.get("says", [])],
                row.get("warns"),
            )
