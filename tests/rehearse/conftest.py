"""A quick stand-in for all tests of the rehearsal."""

from __future__ import annotations

import pytest

# Load in no time and speak fast.
QUICK = {
    "STANDIN_IMPORT_SECONDS": "0.1",
    "STANDIN_LOAD_SECONDS": "0.2",
    "STANDIN_TOKENS_PER_SECOND": "400",
    "STANDIN_SCALE": "0.05",
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give it to every process that a test starts."""
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
