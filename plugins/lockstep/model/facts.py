"""The models that Lockstep knows by their id."""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lockstep.model.config import read_config
from lockstep.plugins import MODELS, tables
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape
    from lockstep.yamlfile import Value, Values

__all__ = ["find_model", "known_models"]

FACTS = Path(__file__).parents[1] / "facts" / "models.yaml"


@cache
def configs() -> dict[str, Values]:
    """Return the config of every id in the facts; a plug-in's row takes the place of one with its id."""
    found: dict[str, Values] = {}
    for row in chain.from_iterable(cast("list[Value]", table["models"]) for table in (read(FACTS), *tables(MODELS))):
        if isinstance(row, dict) and isinstance(row["config"], dict) and isinstance(row["ids"], list):
            found.update({str(name).lower(): row["config"] for name in row["ids"]})
    return found


def known_models() -> tuple[str, ...]:
    """Return the ids that ``find_model`` knows, in lower case."""
    return tuple(configs())


def find_model(name: str) -> ModelShape | None:
    """Look up a model by id.

    Parameters
    ----------
    name
        Such as ``deepseek-ai/DeepSeek-R1``; upper and lower case are the same, as on the hub.

    Returns
    -------
    ModelShape | None
        None when the facts do not have it.
    """
    config = configs().get(name.lower())
    return read_config(config, name) if config is not None else None
