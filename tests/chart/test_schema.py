"""The schema is closed, described, up to date, and says what the templates read: no more and no less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lockstep import schema

from .rendering import CHART, FIVE_LINES, Object, refusal, render, text, values

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE: Object = yaml.safe_load((CHART / "values.schema.yaml").read_text(encoding="utf-8"))
CI = sorted((CHART / "ci").glob("*.yaml"))
EVERYTHING = CHART / "ci" / "everything-values.yaml"
# Helm hands these to a dependency; nothing reads them.
OF_HELM = {"global", "enabled"}
# Only the Python tool reads these.
OF_THE_TOOL = {".model.config"}


def resolve(node: Object) -> Object:
    """Follow a reference."""
    if "$ref" in node:
        found: Object = SOURCE["definitions"][node["$ref"].removeprefix("#/definitions/")]
        return found
    return node


def children(node: Object) -> Iterator[tuple[str, Object]]:
    """Give the parts of an object's or list's schema, as written."""
    node = resolve(node)
    yield from node.get("properties", {}).items()
    yield from node.get("patternProperties", {}).items()
    for field in ("additionalProperties", "items"):
        if isinstance(node.get(field), dict):
            yield field, node[field]


def walk(node: Object, path: str = "") -> Iterator[tuple[str, Object]]:
    """Give every schema below one, with a readable path."""
    for name, child in children(node):
        yield f"{path}.{name}", child
        yield from walk(child, f"{path}.{name}")


def test_the_generated_schema_is_up_to_date() -> None:
    """Helm reads values.schema.json, people read values.schema.yaml."""
    assert 0 == schema.main(["--check"])


def test_every_key_has_a_description() -> None:
    """At the place where it is used: two keys of one type do not mean the same."""
    missing = [path for path, node in walk(SOURCE) if "description" not in node]

    assert [] == missing


def test_every_object_with_keys_of_its_own_is_closed() -> None:
    """An open one takes typing errors for settings."""
    open_objects = [
        path
        for path, node in walk(SOURCE)
        if ("properties" in resolve(node) or "patternProperties" in resolve(node))
        and resolve(node).get("additionalProperties") is not False
    ]

    assert [] == open_objects
    assert SOURCE["additionalProperties"] is False


def test_no_rule_uses_what_helm_reports_at_a_wrong_path() -> None:
    """Of propertyNames Helm 4.3 names the key that it looked at before."""
    assert "propertyNames" not in (CHART / "values.schema.json").read_text(encoding="utf-8")


def test_the_generator_puts_references_in_place_and_lets_optional_keys_be_null() -> None:
    """The description of the place wins over the one of the definition."""
    source: Object = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"$ref": "#/definitions/count", "description": "here"},
            "b": {"$ref": "#/definitions/count"},
            "c": {"type": "string", "enum": ["x"]},
            "d": {"type": "null"},
        },
        "patternProperties": {"^x": {"type": ["string", "number"]}},
        "definitions": {"count": {"type": "integer", "minimum": 1, "description": "there"}},
    }

    assert {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "integer", "minimum": 1, "description": "here"},
            "b": {"type": ["integer", "null"], "minimum": 1, "description": "there"},
            "c": {"type": ["string", "null"], "enum": ["x", None]},
            "d": {"type": ["null"]},
        },
        "patternProperties": {"^x": {"type": ["string", "number", "null"]}},
    } == schema.generate(source)


def leaves(node: Object) -> Iterator[Object]:
    """Give the schemas that hold no further ones."""
    below = list(children(node))
    if not below:
        yield resolve(node) if "$ref" in node else node
    for name, child in below:
        if child.get("type") != "null" and not (node is SOURCE and name in OF_HELM):
            yield from leaves(child)


def visited(node: Object, value: Any) -> Iterator[Object]:
    """Give the schemas without further ones that values reach."""
    node = resolve(node)
    if isinstance(value, list):
        for item in value:
            yield from visited(node["items"], item) if "items" in node else ()
    elif isinstance(value, dict) and list(children(node)):
        for key, part in value.items():
            child = node.get("properties", {}).get(key)
            for pattern, candidate in node.get("patternProperties", {}).items():
                child = child or (candidate if re.search(pattern, key) else None)
            if child or isinstance(node.get("additionalProperties"), dict):
                yield from visited(child or node["additionalProperties"], part)
    if not list(children(node)):
        yield node


def test_the_files_in_ci_set_every_key() -> None:
    """So what the next tests prove, they prove of every key."""
    given = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in CI]
    seen = {id(node) for value in given for node in visited(SOURCE, value)}
    unset = {path for path, node in walk(SOURCE) if id(resolve(node)) in {id(x) for x in leaves(SOURCE)} - seen}

    assert OF_THE_TOOL == unset


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give the scalars of values with their paths."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from scalars(part, f"{path}.{key}")
    elif isinstance(value, list):
        for part in value:
            yield from scalars(part, path)
    else:
        yield path, value


# Said by the presence of something else; each has a test of its own or is mutated below.
SAID_OTHERWISE = {".stack.name", ".stack.lws.onPodLoss", ".weights.source"}


@pytest.mark.parametrize("file", CI, ids=lambda file: file.stem)
def test_every_value_is_found_in_what_is_rendered(file: Any) -> None:
    """A key that no template reads would be a promise that nobody keeps."""
    rendered = text(file)
    given = scalars(yaml.safe_load(file.read_text(encoding="utf-8")))
    lost = [
        path
        for path, value in given
        if not isinstance(value, bool) and path not in SAID_OTHERWISE and str(value).strip("/") not in rendered
    ]

    # With weights from a claim the model's id is only a name, and that one is overridden.
    expected = {".model.id"} if file == EVERYTHING else set()

    assert expected == set(lost)


SWITCHES: dict[str, Object] = {
    "stack.lws.onPodLoss": {"stack": {"lws": {"onPodLoss": "replace"}}},
    "weights.source": {"weights": {"source": "hostPath", "path": "/mnt"}},
    "weights.tokenSecret.optional": {"weights": {"tokenSecret": {"name": "a", "optional": True}}},
    "parallelism.expert": {"parallelism": {"expert": "all"}},
    "network.hostNetwork": {"network": {"hostNetwork": True}},
    "supervisor.enabled": {"supervisor": {"enabled": False}},
    "networkPolicy.enabled": {"networkPolicy": {"enabled": False}},
    "networkPolicy.egress.enabled": {"networkPolicy": {"egress": {"enabled": True}}},
    "disruption.enabled": {"disruption": {"enabled": False}},
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_changes_what_is_rendered(switch: str) -> None:
    """What is true or false, or one of a few words, cannot be searched for."""
    assert text(FIVE_LINES) != text(values(SWITCHES[switch]))


def test_every_switch_is_in_the_list() -> None:
    """A new one must be added above."""
    booleans = {
        path.removeprefix(".") for path, node in walk(SOURCE) if resolve(node).get("type") == "boolean"
    } - OF_HELM
    same = {"supervisor.tokenSecret.optional": "weights.tokenSecret.optional"}

    assert set() == {same.get(path, path) for path in booleans} - set(SWITCHES)


def test_every_read_of_a_template_is_a_key_of_the_schema() -> None:
    """The other way round: a misspelt read would always be empty."""
    known = {path.removeprefix(".") for path, _ in walk(SOURCE)}
    reads = set()
    for template in (CHART / "templates").rglob("*.*"):
        source = template.read_text(encoding="utf-8")
        for match in re.finditer(r"\(*(?:\$|\.root|\$\.root|\$root|\$context\.root)?\.Values\.([\w.)]+)", source):
            reads.add(match.group(1).replace(")", "").rstrip("."))

    free = tuple(f"{path.removeprefix('.')}." for path, node in walk(SOURCE) if "patternProperties" in resolve(node))

    assert {"engine.name", "network.rdma", "weights.path"} <= reads
    assert set() == {read for read in reads if not read.startswith(free)} - known


@pytest.mark.parametrize("key", [key for key in SOURCE["properties"] if key not in OF_HELM])
def test_any_top_level_map_may_be_null_or_is_asked_for(key: str) -> None:
    """Values kept from an older release may lack a map: a readable message, or the defaults, never a nil pointer."""
    changes = values({key: None})
    if key in SOURCE["required"]:
        assert f"missing property '{key}'" in refusal(changes)
    else:
        render(changes)


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param("additional properties 'engin' not allowed", {"engin": {"x": 1}}, id="top"),
        pytest.param(
            "at '/parallelism': additional properties 'tensorP' not allowed", {"parallelism": {"tensorP": 8}}, id="deep"
        ),
        pytest.param("at '/engine/args': got string", {"engine": {"args": "--a b"}}, id="args-as-text"),
        pytest.param("at '/engine/args': got array", {"engine": {"args": ["--a", "b"]}}, id="args-as-list"),
        pytest.param("at '/startup/seconds': minimum: got 0, want 60", {"startup": {"seconds": 0}}, id="zero"),
        pytest.param("at '/startup/seconds': got string", {"startup": {"seconds": "long"}}, id="text"),
        pytest.param("at '/group/nodes': got number", {"group": {"nodes": 1.5}}, id="fraction"),
        pytest.param("at '/resources/limits/memory': '10GB'", {"resources": {"limits": {"memory": "10GB"}}}, id="10GB"),
        pytest.param("at '/model/id'", {"model": {"id": "--trust-remote-code"}}, id="a-flag-for-a-model"),
        pytest.param("at '/engine/env/A': got null or", {"engine": {"env": {"A": ["x"]}}}, id="env-list"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(expected: str, changes: Object) -> None:
    """Helm's message names the path and what is wrong there."""
    assert expected.replace("got null or", "got array") in refusal(values(changes))
