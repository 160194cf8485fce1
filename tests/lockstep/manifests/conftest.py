"""Fixtures of the manifests' tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def goldens() -> list[Path]:
    """List the rendered examples of the chart."""
    found = sorted((Path(__file__).parents[2] / "chart" / "golden").glob("*.yaml"))
    assert found
    return found
