"""The objects of ``health/<Kind>.yaml``, each with what a person should see of it, and the script that says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FLEET = Path(__file__).parents[2] / "argocd"
SCRIPTS = {
    kind: script
    for script in sorted((FLEET / "health").glob("*.lua"))
    for kind in script.stem.partition("_")[2].split("+")
}
NOW = "2026-11-30T04:30:00Z"


@dataclass(frozen=True)
class State:
    """An object in one state, the moment at which it is looked at, and the verdict."""

    name: str
    item: dict[str, Any]
    now: str
    status: str
    message: str

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return str(self.item["kind"])


STATES = [
    State(f"{file.stem}: {row['id']}", row["object"], row.get("now", NOW), row["status"], row["message"])
    for file in sorted((Path(__file__).parent / "health").glob("*.yaml"))
    for row in yaml.safe_load(file.read_text(encoding="utf-8"))
]
