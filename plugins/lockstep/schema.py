"""Generate a chart's ``values.schema.json`` from its hand-written ``values.schema.yaml``.

``python -m lockstep.schema`` writes the file, ``python -m lockstep.schema --check`` fails when it is out of date.
Two things differ from the source: each ``$ref`` is put in place, so that a message names the key and not a rule, and
each key that is not required may also be ``null``, because ``null`` removes what a values file beneath has set.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import yaml

from lockstep import share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Schema: TypeAlias = "dict[str, Json]"

_REFERENCE = "#/definitions/"


def generate(source: Schema) -> Schema:
    """Turn the hand-written schema into the one that Helm reads.

    Parameters
    ----------
    source : Schema
        The parsed ``values.schema.yaml``.

    Returns
    -------
    Schema
        The same schema without references and definitions, optional keys nullable.

    Raises
    ------
    KeyError
        If a reference names no definition.
    """
    definitions = _mapping(source.get("definitions"))
    root = {key: value for key, value in source.items() if key != "definitions"}
    return _expand(root, definitions)


def _expand(schema: Mapping[str, Json], definitions: Mapping[str, Json]) -> Schema:
    """Resolve the reference of one schema and expand those of the keys and items below it."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return _expand({**_mapping(definitions[reference.removeprefix(_REFERENCE)]), **own}, definitions)
    expanded: Schema = dict(schema)
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    if "properties" in schema:
        expanded["properties"] = {
            name: child if name in names else _nullable(child)
            for name, value in _mapping(schema["properties"]).items()
            for child in [_expand(_mapping(value), definitions)]
        }
    if "patternProperties" in schema:
        expanded["patternProperties"] = {
            pattern: _nullable(_expand(_mapping(value), definitions))
            for pattern, value in _mapping(schema["patternProperties"]).items()
        }
    if isinstance(others := schema.get("additionalProperties"), dict):
        expanded["additionalProperties"] = _nullable(_expand(others, definitions))
    if isinstance(items := schema.get("items"), dict):
        expanded["items"] = _expand(items, definitions)
    return expanded


def _nullable(schema: Schema) -> Schema:
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    widened: Schema = {**schema, "type": [*types, *(["null"] if "null" not in types else [])]}
    if isinstance(choices := schema.get("enum"), list):
        widened["enum"] = [*choices, None]
    return widened


def _mapping(value: Json) -> Schema:
    if not isinstance(value, dict):
        raise TypeError(f"a mapping is expected in the schema, not {value!r}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check ``values.schema.json`` of one chart.

    Parameters
    ----------
    arguments : sequence of str, optional
        ``[--check] [CHART]``; the command line if absent.

    Returns
    -------
    int
        0 if the file is up to date now, 1 if ``--check`` found it out of date.
    """
    parser = argparse.ArgumentParser(prog="python -m lockstep.schema", description=__doc__)
    parser.add_argument("chart", type=Path, nargs="?", default=share.folder("charts") / "serving")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    options = parser.parse_args(arguments)
    source = yaml.safe_load((options.chart / "values.schema.yaml").read_text(encoding="utf-8"))
    text = json.dumps(generate(source), indent=2, ensure_ascii=False) + "\n"
    target: Path = options.chart / "values.schema.json"
    if not options.check:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{target} is not what values.schema.yaml says; run `python -m lockstep.schema`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
