"""A quick stand-in for all tests of the rehearsal."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load in no time and speak fast."""
    monkeypatch.setenv("STANDIN_IMPORT_SECONDS", "0.1")
    monkeypatch.setenv("STANDIN_LOAD_SECONDS", "0.2")
    monkeypatch.setenv("STANDIN_TOKENS_PER_SECOND", "400")
    monkeypatch.setenv("STANDIN_SCALE", "0.05")
