"""Faults of the schema are one sentence each: where, what was read, and what may stand there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.checks.schema import check

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.yamlfile import Value, Values

CHART = share.folder("charts") / "serving"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Make a folder with a small schema that has every kind of rule."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "engine": {"type": "object"},  # by which a chart for serving is told
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "description": "A name."},
            "count": {"type": ["integer", "string", "null"], "minimum": 1, "maximum": 9, "pattern": "^[1-9]$"},
            "share": {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+%$"},
            "kind": {"enum": ["one", "two", None]},
            "list": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "only": {"type": "null", "description": "Reserved."},
            "inner": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"tensor": {"type": "integer"}},
            },
            "env": {"type": "object", "additionalProperties": False, "patternProperties": {"^[A-Z]+$": {}}},
        },
    }
    (tmp_path / "values.schema.json").write_text(json.dumps(schema))
    return tmp_path


@pytest.mark.parametrize(
    ("values", "path", "sentence"),
    [
        pytest.param({}, "name", "name is missing. Set name. A name.", id="missing"),
        pytest.param({"nme": 1}, "nme", "nme is not a key of this chart. Did you mean name?", id="typing-error"),
        pytest.param({"NAME": 1}, "NAME", "NAME is not a key of this chart. Did you mean name?", id="capitals"),
        pytest.param(
            {"tensor": 1}, "tensor", "tensor is not a key of this chart. Did you mean inner.tensor?", id="elsewhere"
        ),
        pytest.param(
            {"inner": {"zzz": 1}},
            "inner.zzz",
            "inner.zzz is not a key of this chart. Remove it; inner takes tensor.",
            id="nothing-near",
        ),
        pytest.param({"name": 5}, "name", "name is 5. It must be text. A name.", id="type"),
        pytest.param(
            {"name": "A"}, "name", 'name is the text "A". It must be text of the form ^[a-z]+$. A name.', id="pattern"
        ),
        pytest.param(
            {"name": "abcdef"},
            "name",
            'name is the text "abcdef". It must be text with a length of at most 5. A name.',
            id="length",
        ),
        pytest.param({"count": 0}, "count", "count is 0. It must be at least 1.", id="minimum"),
        pytest.param({"count": 1.5}, "count", "count is 1.5. It must be an integer from 1 to 9.", id="integer"),
        pytest.param(
            {"count": "x"}, "count", 'count is the text "x". It must be an integer from 1 to 9.', id="integer-in-digits"
        ),
        pytest.param(
            {"share": "x"},
            "share",
            'share is the text "x". It must be an integer from 0 or a percentage up to 100%.',
            id="percentage",
        ),
        pytest.param({"kind": "three"}, "kind", 'kind is the text "three". It must be one or two.', id="enum"),
        pytest.param(
            {"list": []}, "list", "list is a list. It must be a list with a length of at least 1.", id="empty"
        ),
        pytest.param({"list": ["a", True]}, "list[1]", "list[1] is true. It must be text.", id="inside-a-list"),
        pytest.param({"only": {}}, "only", "only is a mapping. Remove it. Reserved.", id="never"),
        pytest.param(
            {"env": {"a": 1}},
            "env",
            'env has the key "a", which is not possible. Its keys have the form ^[A-Z]+$.',
            id="key-of-another-form",
        ),
        pytest.param(
            {"name": "x" * 100},
            "name",
            f'name is the text "{"x" * 57}...". It must be text with a length of at most 5. A name.',
            id="long-text-is-cut",
        ),
    ],
)
def test_one_sentence_for_each_fault(chart: Path, values: Values, path: str, sentence: str) -> None:
    """Where, what, and what instead."""
    base: Values = {} if values == {} else {"name": "a"}
    findings = list(check(chart, base | values))

    assert [("VAL002", path, sentence)] == [(row.code, row.path, f"{row.message}. {row.fix}") for row in findings]


@pytest.mark.parametrize("value", [None, 0, 1.5, "x", [], {}, True], ids=str)
def test_every_key_of_the_chart_takes_any_value_without_a_traceback(value: Value) -> None:
    """The chart's own schema: each section replaced by a value of each kind."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    for key in schema["properties"]:
        assert all(row.message and row.fix for row in check(CHART, {key: value}))


def test_all_faults_are_told_at_once(chart: Path) -> None:
    """One round of mending, not one for each fault; in the order of the paths."""
    findings = check(chart, {"count": 0, "kind": 1, "zzz": 1})

    assert ["count", "kind", "name", "zzz"] == [row.path for row in findings]
