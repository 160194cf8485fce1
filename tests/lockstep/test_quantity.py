"""Kubernetes quantities as numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lockstep.quantity import amount


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("10Gi", Decimal(10 * 2**30), id="binary"),
        pytest.param("10G", Decimal(10**10), id="decimal"),
        pytest.param("1e10", Decimal(10**10), id="exponent"),
        pytest.param("1E3", Decimal(1000), id="capital-exponent"),
        pytest.param("2E", Decimal(2 * 10**18), id="exa"),
        pytest.param("1.5Ki", Decimal(1536), id="fraction"),
        pytest.param("8000m", Decimal(8), id="thousandths"),
        pytest.param(8, Decimal(8), id="integer"),
        pytest.param(0.5, Decimal("0.5"), id="number"),
        pytest.param("10GB", None, id="no-such-unit"),
        pytest.param("ten", None, id="words"),
        pytest.param("-1", None, id="negative"),
        pytest.param("", None, id="empty"),
    ],
)
def test_amount(text: str | float, expected: Decimal | None) -> None:
    """Units of k8s.io/apimachinery; whatever is no quantity has no amount."""
    assert expected == amount(text)
