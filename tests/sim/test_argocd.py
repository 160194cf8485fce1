"""What the simulated cluster says to Argo CD holds while Argo CD changes its own objects."""

from __future__ import annotations

from contextlib import closing
from typing import Any, NoReturn, cast

import pytest
from ci.sim.api import Api, ApiError, NotFoundError
from ci.sim.argocd import ArgoCD


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


def told(refusal: ApiError, monkeypatch: pytest.MonkeyPatch) -> ArgoCD:
    """Make an Argo CD whose API server refuses changes."""
    argocd = ArgoCD.__new__(ArgoCD)
    monkeypatch.setattr(argocd, "api", lambda: closing(cast("Api", Answers(refusal))))
    return argocd


def test_a_set_that_a_commit_took_away_is_not_told_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes between the list and the word to it."""
    told(NotFoundError("gone"), monkeypatch).generate()


def test_another_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that is passed over."""
    with pytest.raises(ApiError, match="conflict"):
        told(ApiError("conflict"), monkeypatch).generate()
