"""Who computes what in a group, whatever the engine calls it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockstep.standin.settings import Settings


class ConfigError(ValueError):
    """Flags that do not go together; the text ends like the engine's own traceback."""


@dataclass(frozen=True)
class Shape:
    """What is known of the model; 0 is unknown."""

    heads: int
    layers: int
    context: int

    @classmethod
    def of(cls, model: str, chosen: Settings) -> Shape:
        """Read a local ``config.json``; else take what the settings say."""
        path = Path(model) / "config.json"
        found = json.loads(path.read_text()) if path.is_file() else {}
        return cls(
            heads=int(found.get("num_attention_heads", chosen.heads)),
            layers=int(found.get("num_hidden_layers", chosen.layers)),
            context=int(found.get("max_position_embeddings", chosen.context)),
        )


@dataclass(frozen=True)
class Layout:
    """Who computes what: sizes, this node, the master's address, the model.

    Attributes
    ----------
    world : int
        Ranks of the group, one per GPU: tensor x pipeline x prefill context x data.
    first, local : int
        The first rank on this node, and how many it holds.
    fingerprint : str
        Of all flags that must be the same on every rank.
    """

    model: str
    served: tuple[str, ...]
    context: int
    tensor: int
    pipeline: int
    world: int
    first: int
    local: int
    node_rank: int
    master: tuple[str, int]
    fingerprint: str

    @property
    def ranks(self) -> range:
        """The ranks of this node."""
        return range(self.first, self.first + self.local)

    @property
    def alone(self) -> bool:
        """Whether this node holds all ranks."""
        return self.local == self.world

    def name(self, rank: int) -> str:
        """Return a worker's name as the engine's log has it, e.g. ``Worker_PP1_TP0``."""
        stage, within = divmod(rank, self.tensor)
        parts = [f"_PP{stage % self.pipeline}"] * (self.pipeline > 1) + [f"_TP{within}"] * (self.tensor > 1)
        return "Worker" + "".join(parts)


def fingerprint(given: Mapping[str, object], but: str) -> str:
    """Return a digest of all flags that have to be the same on every rank: all but the named ones."""
    shared = {name: value for name, value in given.items() if name not in but.split()}
    return hashlib.blake2b(json.dumps(shared, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()
