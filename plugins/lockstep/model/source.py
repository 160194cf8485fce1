"""Where a release's model shape comes from: the config.json that the values name, or the facts by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.model.config import load_config
from lockstep.model.facts import find_model

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape
    from lockstep.release import Release

__all__ = ["model_of"]


def model_of(release: Release) -> ModelShape | None:
    """Find the shape of a release's model.

    Parameters
    ----------
    release
        The release.

    Returns
    -------
    ModelShape | None
        None when the values name no config and the facts do not have the id.

    Raises
    ------
    ConfigError
        If ``model.config`` cannot be read or used.
    UnknownShape
        If it holds, or leaves out, what Lockstep does not know.
    """
    if release.model.config is not None:
        return load_config(release.folder / release.model.config)
    return find_model(release.model.id)
