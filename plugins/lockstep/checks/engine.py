"""Flags and variables of the engine: what Lockstep derives is not the values' to set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.release import version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.owned import Reserved
    from lockstep.release import Release


def derived_flags(release: Release) -> Iterator[Finding]:
    """Refuse a flag that Lockstep derives, in every spelling that the engine's parser takes."""
    facts = release.engine.facts
    for key, value in release.engine.args.items():
        row = next((row for row in facts.flags if _is_spelling(flag_name(key), row, facts.negation)), None)
        if row is not None:
            yield Finding(
                "ENG001",
                f"engine.args.{key}",
                f"engine.args.{key} sets --{row.name}, which Lockstep derives",
                f"Remove it and use {row.use}.",
                {f"engine.args.{key}": value},
            )


def flags_given_twice(release: Release) -> Iterator[Finding]:
    """Refuse two spellings of one flag: which of them wins would hang on the order of the keys."""
    seen: dict[str, str] = {}
    for key in release.engine.args:
        name = flag_name(key)
        if name in seen:
            yield Finding(
                "ENG004",
                f"engine.args.{key}",
                f"engine.args sets one flag twice, as {seen[name]} and as {key}",
                "Remove one of them.",
                {f"engine.args.{spelling}": release.engine.args[spelling] for spelling in (seen[name], key)},
            )
        seen[name] = key


def owned_variables(release: Release) -> Iterator[Finding]:
    """Refuse a variable that the chart or the launch script sets."""
    rows = (*release.owned.variables, *release.engine.facts.variables)
    for path, variables in (("engine.env", release.engine.env), ("network.env", release.network.env)):
        for name in variables:
            row = next((row for row in rows if row.covers(name)), None)
            if row is not None:
                yield Finding(
                    "ENG002",
                    f"{path}.{name}",
                    f"{path}.{name} is a variable that Lockstep sets",
                    f"Remove it and use {row.use}.",
                )


def multi_node_version(release: Release) -> Iterator[Finding]:
    """Refuse several nodes with an engine that cannot span them."""
    engine, nodes = release.engine, release.group.nodes
    if nodes > 1 and version(engine.version) < version(engine.facts.multi_node_since):
        yield Finding(
            "ENG003",
            "engine.version",
            f"engine.version is {engine.version} and group.nodes {nodes}, but {engine.name} spans nodes only from "
            f"{engine.facts.multi_node_since} on",
            "Raise engine.version.",
            {"engine.version": engine.version, "group.nodes": nodes},
        )


def flag_name(key: str) -> str:
    """Give a key of ``engine.args`` its one spelling.

    Parameters
    ----------
    key : str
        As written: ``tensor_parallel_size``, ``--nnodes=2``, ``-tp`` ...

    Returns
    -------
    str
        Without leading dashes, up to a ``=``, with ``-`` for ``_``.
    """
    return key.lstrip("-=").partition("=")[0].replace("_", "-")


def _is_spelling(name: str, row: Reserved, negation: str) -> bool:
    """Say whether argparse takes a name for a flag: whole, negated, short, or as an unfinished long name."""
    name = name.removeprefix(negation)
    return name in row.short or (len(name) > len("tp") and row.name.startswith(name))
