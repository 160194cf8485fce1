"""The chart's schema, with one readable message for each fault."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from jsonschema.validators import Draft7Validator

from lockstep.errors import UsageError
from lockstep.findings import Finding
from lockstep.paths import dotted, join
from lockstep.yamlfile import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jsonschema.exceptions import ValidationError

    from lockstep.yamlfile import Value, Values


def check(chart: Path, values: Values) -> Iterator[Finding]:
    """Hold values against the chart's schema.

    Parameters
    ----------
    chart : Path
        The chart's folder.
    values : Values
        Merged values.

    Yields
    ------
    Finding
        VAL002, one for each fault, ordered by path; two rules of the schema that say the same say it once.
    """
    schema = _schema(chart)
    faults = map(_Fault.of, Draft7Validator(schema).iter_errors(values))
    findings = [finding for fault in faults for finding in _findings(fault, schema)]
    alone = [each for index, each in enumerate(findings) if each not in findings[:index]]
    yield from sorted(alone, key=lambda finding: finding.path)


@cache
def _schema(chart: Path) -> Values:
    file = chart / "values.schema.json"
    if not file.is_file():
        raise UsageError(f"{chart}: not Lockstep's serving chart (no {file.name} in it)")
    schema: Values = json.loads(file.read_text(encoding="utf-8"))
    properties = schema.get("properties")
    if not isinstance(properties, dict) or "engine" not in properties:
        raise UsageError(f"{chart}: not Lockstep's serving chart (no engine among its values)")
    return schema


@dataclass(frozen=True)
class _Fault:
    """What a validation error says, with JSON's types."""

    path: str
    rule: str
    wanted: Value
    given: Value
    schema: Values

    @classmethod
    def of(cls, error: ValidationError) -> _Fault:
        return cls(
            dotted(error.absolute_path),
            str(error.validator),
            cast("Value", error.validator_value),
            cast("Value", error.instance),
            cast("Values", error.schema if isinstance(error.schema, dict) else {}),
        )

    @property
    def properties(self) -> Values:
        known = self.schema.get("properties")
        return known if isinstance(known, dict) else {}

    @property
    def patterns(self) -> list[str]:
        known = self.schema.get("patternProperties")
        return list(known) if isinstance(known, dict) else []


def _findings(fault: _Fault, schema: Values) -> Iterator[Finding]:
    path, given = fault.path, fault.given
    if fault.rule == "additionalProperties" and isinstance(given, dict):
        for key in given:
            if key not in fault.properties and not any(re.search(form, key) for form in fault.patterns):
                yield _misnamed(path, key, fault.patterns) if fault.patterns else _unknown(fault, key, schema)
    elif fault.rule == "required" and isinstance(given, dict) and isinstance(fault.wanted, list):
        for key in map(str, fault.wanted):
            if key not in given:
                yield _missing(join(path, key), fault.properties.get(key))
    else:
        message = f"{path or 'the file'} is {_shown(given)}"
        yield Finding("VAL002", path, message, _allowed(fault), {path: _short(given)})


def _misnamed(path: str, key: str, forms: list[str]) -> Finding:
    message = f'{path} has the key "{key}", which is not possible'
    return Finding("VAL002", path, message, f"Its keys have the form {' or '.join(forms)}.")


def _unknown(fault: _Fault, key: str, schema: Values) -> Finding:
    """Name the nearest key: a near spelling here, or the same key elsewhere."""
    path, known = fault.path, list(fault.properties)
    full = join(path, key)
    near = get_close_matches(key, known, n=1)
    lowered = {name.lower(): name for name in known}
    elsewhere = [place for place in _places(schema, "") if place.rpartition(".")[2] == key]
    if near or key.lower() in lowered:
        fix = f"Did you mean {join(path, near[0] if near else lowered[key.lower()])}?"
    elif elsewhere:
        fix = f"Did you mean {' or '.join(elsewhere[:3])}?"
    else:
        fix = f"Remove it; {path or 'the file'} takes {', '.join(known)}."
    return Finding("VAL002", full, f"{full} is not a key of this chart", fix, {})


def _missing(path: str, schema: Value) -> Finding:
    about = schema.get("description") if isinstance(schema, dict) else None
    return Finding("VAL002", path, f"{path} is missing", f"Set {path}. {about or ''}".rstrip(), {})


def _allowed(fault: _Fault) -> str:
    """Say what may stand there instead, in words."""
    wanted = fault.wanted if isinstance(fault.wanted, list) else [fault.wanted]
    choices = " or ".join(_KINDS.get(str(choice), str(choice)) for choice in wanted if choice not in (None, "null"))
    number = _number(fault.schema) if fault.rule in ("type", "pattern") else None
    if number is not None:
        what = f"It must be {number}."
    elif not choices:
        what = "Remove it."
    elif fault.rule in _RULES:
        what = f"It must be {_RULES[fault.rule]}{choices}."
    else:
        what = "It does not fit the key."
    return f"{what} {fault.schema.get('description') or ''}".rstrip()


def _number(schema: Values) -> str | None:
    """Describe an integer that may also be written in digits or as a percentage; None for another kind of key."""
    kinds = schema.get("type")
    if not isinstance(kinds, list) or "integer" not in kinds:
        return None
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    percent = " or a percentage up to 100%" if "%" in str(schema.get("pattern")) else ""
    return " ".join(["an integer", *bounds]) + percent


_KINDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}
_RULES: Final = {
    "type": "",
    "enum": "",
    "const": "",
    "pattern": "text of the form ",
    "minimum": "at least ",
    "maximum": "at most ",
    "minLength": "text with a length of at least ",
    "maxLength": "text with a length of at most ",
    "minItems": "a list with a length of at least ",
    "maxItems": "a list with a length of at most ",
}


def _places(schema: Value, path: str) -> Iterator[str]:
    """Yield the path of every named key of a schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for key, inner in properties.items() if isinstance(properties, dict) else ():
        yield join(path, key)
        yield from _places(inner, join(path, key))


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return f'the text "{_short(value)}"'
    return kind_of(value) if isinstance(value, (dict, list)) else json.dumps(value)


def _short(value: Value) -> Value:
    """Cut long texts; whole mappings and lists are not repeated."""
    if isinstance(value, str):
        return value if len(value) <= 60 else value[:57] + "..."
    return None if isinstance(value, (dict, list)) else value
