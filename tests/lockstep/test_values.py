"""Values files merge as in Helm: maps merge, all else replaces, null removes a default."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lockstep.values import coalesce, stack

if TYPE_CHECKING:
    from lockstep.yamlfile import Values

    from .conftest import DebugChart

LEAVES = st.sampled_from([None, None, None, True, False, 0, 1, "x", "", [], [1], [{"a": None}], {}])
TREES = st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6)
CASES = st.lists(st.tuples(*[st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)] * 3), min_size=40, max_size=40)


# Shrinking forty cases at a time would take minutes; the assertion shows the whole difference.
@settings(max_examples=10, deadline=None, phases=[Phase.generate])
@given(CASES)
def test_layers_merge_as_in_helm(debug_chart: DebugChart, cases: list[tuple[Values, Values, Values]]) -> None:
    """Forty random triples of defaults, base and file in one Helm run, each triple under a key of its own."""
    defaults, base, file = ({f"k{n}": case[part] for n, case in enumerate(cases)} for part in range(3))
    expected = debug_chart.values_of(json.dumps(base), json.dumps(file), defaults=json.dumps(defaults))
    actual = coalesce(defaults, stack([base, file]))

    assert expected == actual


@pytest.mark.parametrize(
    ("defaults", "user", "expected"),
    [
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}, id="maps-merge"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists-replace"),
        pytest.param({"a": 1}, {"a": 0}, {"a": 0}, id="zero-is-a-value"),
        pytest.param({"a": True}, {"a": False}, {"a": False}, id="false-is-a-value"),
        pytest.param({"a": 1, "b": 2}, {"a": None}, {"b": 2}, id="null-removes"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": None}}, {"a": {}}, id="null-removes-beneath"),
        pytest.param({}, {"a": None}, {"a": None}, id="null-without-default"),
        pytest.param({"a": None, "b": {"c": None}}, {}, {"b": {}}, id="null-as-default"),
        pytest.param({"a": {"b": None}}, {"a": {"b": None}}, {"a": {"b": None}}, id="null-over-null"),
        pytest.param({"a": {"b": 1}}, {"a": 2}, {"a": 2}, id="scalar-over-map"),
        pytest.param({"a": 2}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="map-over-scalar"),
    ],
)
def test_chart_defaults_lie_beneath(debug_chart: DebugChart, defaults: Values, user: Values, expected: Values) -> None:
    """The rules one by one, each held against Helm, too."""
    from_helm = debug_chart.values_of(json.dumps(user), defaults=json.dumps(defaults))

    assert expected == coalesce(defaults, user)
    assert expected == from_helm
