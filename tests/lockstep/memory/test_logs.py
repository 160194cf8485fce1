"""Proves how near the memory arithmetic comes to what engines printed in public logs."""

from __future__ import annotations

import pytest

from tests.lockstep.memory import page
from tests.lockstep.memory.logs import Comparison, comparisons

COMPARISONS = comparisons()
# Share of the number itself; for the pool, of the accelerator's memory.
BOUNDS = {"weights": 0.03, "sequence": 0.01, "tokens": 0.06, "pool": 0.07}


@pytest.mark.parametrize("comparison", COMPARISONS, ids=[c.name for c in COMPARISONS])
def test_prediction_is_near_the_log(comparison: Comparison) -> None:
    """Weights, cache and pool are within the bounds that docs/memory.md promises."""
    bound = BOUNDS[comparison.metric]

    assert -bound <= comparison.error <= bound


def test_there_are_enough_logs() -> None:
    """At least ten logs, and each kind of number at least twice."""
    metrics = [c.metric for c in COMPARISONS]
    logs = {str(c.row["what"]) for c in COMPARISONS}

    assert len(logs) >= 10
    assert all(metrics.count(metric) >= 2 for metric in BOUNDS)


def test_page_is_up_to_date() -> None:
    """docs/memory.md is what page.py writes of the logs."""
    assert page.text() == page.FILE.read_text(encoding="utf-8")
