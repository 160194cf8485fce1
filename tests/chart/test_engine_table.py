"""The table of engines says the same things of each, names a source for every row, and contradicts nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from .rendering import CHART, ROOT, Object

FILES = sorted((CHART / "files" / "engines").glob("*.yaml"))
TABLE: dict[str, Object] = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
SCHEMA: Object = yaml.safe_load((CHART / "values.schema.yaml").read_text(encoding="utf-8"))
OPTIONAL = {"healthSeconds", "ports", "spanningDataSince", "rayUntil", "servedNameSince", "keyVariable"}
VERSION = re.compile(r"\d+\.\d+\.\d+")
# What the stand-in knows of vLLM's flags: name, kind, first release with it, first without.
STANDIN = ROOT / "plugins" / "lockstep" / "standin" / "vllm" / "flags.txt"


def choices(*path: str) -> set[str]:
    """Give the words that the schema takes for a key."""
    node: Any = SCHEMA
    for key in path:
        node = node["properties"][key]
    return set(node["enum"])


def test_the_table_and_the_schema_know_the_same_engines() -> None:
    """And the same words for what engines differ in."""
    assert choices("engine", "name") == set(TABLE)
    assert choices("engine", "executor") == {word for row in TABLE.values() for word in row["executors"]}
    assert choices("parallelism", "loadBalancing") == {word for row in TABLE.values() for word in row["balancing"]}
    assert set(SCHEMA["properties"]["parallelism"]["properties"]) >= {
        f for row in TABLE.values() for f in row["factors"]
    }


def test_every_engine_says_the_same_things() -> None:
    """A key that is there for one engine alone is read by that engine's own rules."""
    common = [set(row) - OPTIONAL for row in TABLE.values()]

    assert [common[0]] * len(common) == common


@pytest.mark.parametrize("engine", TABLE)
@pytest.mark.parametrize("kind", ["flags", "env", "changes"])
def test_every_row_has_a_source_and_says_what_to_do(engine: str, kind: str) -> None:
    """A flag that is yet to come needs a newer version and nothing else."""
    for row in TABLE[engine][kind]:
        assert row["source"], row
        assert "use" in row or "since" in row, row
        assert all(VERSION.fullmatch(str(row[key])) for key in ("since", "gone") if key in row), row


@pytest.mark.parametrize("engine", TABLE)
def test_no_flag_is_both_derived_and_changed(engine: str) -> None:
    """One message is enough, and it is the one about the values key."""
    spelt = [row["name"].replace("_", "-") for kind in ("flags", "changes") for row in TABLE[engine][kind]]

    assert sorted(set(spelt)) == sorted(spelt)


def test_the_stand_in_gains_and_loses_flags_in_the_same_releases() -> None:
    """It refuses what the checks refuse."""
    rows = (line.split() for line in STANDIN.read_text(encoding="utf-8").splitlines() if line.startswith("--"))
    known = {row[0].split(",")[0].removeprefix("--"): row[-2:] for row in rows}
    changes = {row["name"]: [row.get("since", "-"), row.get("gone", "-")] for row in TABLE["vllm"]["changes"]}
    both = {name for name in known.keys() & changes.keys() if changes[name] != ["-", "-"]}

    assert len(both) >= 5
    assert {name: known[name] for name in both} == {name: changes[name] for name in both}
