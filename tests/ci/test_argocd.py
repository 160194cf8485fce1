"""What is said to Argo CD holds while Argo CD changes its own objects."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest
from ci.gitops.argocd import ArgoCD
from ci.sim.api import Api, ApiError, NotFoundError

if TYPE_CHECKING:
    from ci.gitops.hub import Hub


class Answers:
    """An API server that lists one set and refuses to change it."""

    def __init__(self, refusal: ApiError) -> None:
        self.refusal = refusal

    def get(self, path: str) -> dict[str, Any]:
        """List the set."""
        return {"items": [{"metadata": {"name": path}}]}

    def merge(self, *_: object) -> NoReturn:
        """Refuse."""
        raise self.refusal

    def close(self) -> None:
        """End nothing."""


class Refusing:
    """A hub whose API server refuses changes."""

    def __init__(self, refusal: ApiError) -> None:
        self.refusal = refusal

    def api(self) -> closing[Api]:
        """Open a connection."""
        return closing(cast("Api", Answers(self.refusal)))


def told(refusal: ApiError) -> ArgoCD:
    """Give an Argo CD in such a cluster."""
    return ArgoCD(cast("Hub", Refusing(refusal)))


def test_a_set_that_a_commit_took_away_is_not_told_of_the_next() -> None:
    """It goes between the list and the word to it."""
    told(NotFoundError("gone")).generate()


def test_another_refusal_is_told() -> None:
    """Only that is passed over."""
    with pytest.raises(ApiError, match="conflict"):
        told(ApiError("conflict")).generate()
