"""Flags and variables of the engine: what Lockstep derives is not the values' to set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.release import version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.owned import Reserved
    from lockstep.release import Release
    from lockstep.yamlfile import Value

# Variables that a stack can set in the command alone: its controller puts what they are made of behind the others.
_LATE: Final = {
    "grove": ("LOCKSTEP_GROUP", "LOCKSTEP_LEADER_ADDRESS", "LOCKSTEP_NODE_RANK", "LOCKSTEP_RANK_OFFSET"),
}
_REFERENCE: Final = re.compile(r"[$][$]|[$][(](\w+)[)]")
_TRIPLE: Final = re.compile(r"[0-9]+[.][0-9]+[.][0-9]+")


def derived_flags(release: Release) -> Iterator[Finding]:
    """Refuse a flag that Lockstep derives, in every spelling that the engine's parser takes."""
    facts = release.engine.facts
    for key, value in release.engine.args.items():
        name = flag_name(key)
        if not key.startswith("--") and key.startswith("-"):
            name = name.rstrip("0123456789")  # argparse takes -n2 for -n 2
        row = next((row for row in facts.flags if _is_spelling(name, row, facts.negation)), None)
        if row is not None:
            path = release.engine.path(key)
            yield Finding(
                "ENG001",
                path,
                f"{path} sets --{row.name}, which Lockstep derives",
                f"Remove it and use {row.use}.",
                {path: value},
            )


def flags_given_twice(release: Release) -> Iterator[Finding]:
    """Refuse two spellings of one flag: which of them wins would hang on the order of the keys."""
    seen: dict[str, str] = {}
    for key in sorted(release.engine.args):
        name, path = flag_name(key), release.engine.path(key)
        if name in seen:
            yield Finding(
                "ENG004",
                path,
                f"{path} and {release.engine.path(seen[name])} are one flag",
                "Remove one of them.",
                {release.engine.path(spelling): release.engine.args[spelling] for spelling in (seen[name], key)},
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


def references(release: Release) -> Iterator[Finding]:
    """Refuse ``$(NAME)`` of a variable that the stack sets only in the command, or behind all others."""
    late = _LATE.get(release.stack.name, ())
    for section, variables in (("engine.env", release.engine.env), ("network.env", release.network.env)):
        for name, value in variables.items():
            for referred in dict.fromkeys(_REFERENCE.findall(value)) if isinstance(value, str) else ():
                if referred in late or referred.startswith("GROVE_"):
                    yield Finding(
                        "ENG014",
                        f"{section}.{name}",
                        f"{section}.{name} refers to $({referred}), which stack {release.stack.name} does not set "
                        "before it, so the text would stay as it is",
                        "Let the program that needs it read its own variable LOCKSTEP_*, or choose another stack.",
                        {f"{section}.{name}": value, "stack.name": release.stack.name},
                    )


def flags_of_version(release: Release) -> Iterator[Finding]:
    """Refuse a flag that the engine's version does not have: an unknown flag ends the start."""
    engine = release.engine
    numbers = version(engine.version)
    for key in engine.args:
        name, path = flag_name(key).removeprefix(engine.facts.negation), engine.path(key)
        for row in (row for row in engine.facts.changes if row.name.replace("_", "-") == name):
            if not (row.gone or row.since):
                missing, fix = f"--{row.name} is no flag of {engine.name}", f"Use {row.use}."
            elif row.gone and numbers >= version(row.gone):
                missing, fix = (
                    f"{engine.name} {engine.version} has no --{name}; it is gone in {row.gone}",
                    f"Use {row.use}.",
                )
            elif row.since and numbers < version(row.since):
                missing = f"{engine.name} {engine.version} has no --{name} yet; it came with {row.since}"
                fix = "Raise engine.version, or remove the flag."
            else:
                continue
            yield Finding(
                "ENG007",
                path,
                f"{path}: {missing}",
                fix,
                {"engine.version": engine.version},
            )


def image_version(release: Release) -> Iterator[Finding]:
    """Refuse a tag that names another version than the one the flags are checked for."""
    engine = release.engine
    found = [version(text) for text in _TRIPLE.findall(engine.tag or "")]
    if found and version(engine.version) not in found:
        yield Finding(
            "ENG008",
            "engine.image.tag",
            f"engine.image.tag is {engine.tag}, but the flags are checked for {engine.name} {engine.version}",
            "Set engine.version to the version in the image.",
            {"engine.image.tag": engine.tag, "engine.version": engine.version},
        )


def executor(release: Release) -> Iterator[Finding]:
    """Refuse an executor that the engine does not have."""
    engine = release.engine
    if engine.executor and engine.executor not in engine.facts.executors:
        yield Finding(
            "ENG005",
            "engine.executor",
            f"engine.executor is {engine.executor}, but {engine.name} has no choice of executors",
            "Remove it.",
            {"engine.executor": engine.executor, "engine.name": engine.name},
        )


def ssh_key(release: Release) -> Iterator[Finding]:
    """Require the key where the pods of a group talk by ssh, and refuse it where nothing reads it."""
    engine, nodes = release.engine, release.group.nodes
    needed = engine.facts.ssh and nodes > 1
    seen: dict[str, Value] = {"engine.name": engine.name, "group.nodes": nodes}
    if engine.ssh and not needed:
        message = f"engine.sshSecret is set, but {engine.name} on {nodes} node{'s' * (nodes > 1)} needs no ssh"
        yield Finding("ENG005", "engine.sshSecret", message, "Remove it.", seen)
    elif needed and not engine.ssh:
        yield Finding(
            "ENG009",
            "engine.sshSecret",
            f"engine.sshSecret is not set, but {engine.name} spans group.nodes {nodes} by ssh between the pods",
            "Make a Secret of type kubernetes.io/ssh-auth and set engine.sshSecret.name to it.",
            seen,
        )


def stock_image(release: Release) -> Iterator[Finding]:
    """Require an image where the engine has none for the accelerator."""
    engine, resource = release.engine, release.group.resource
    device = engine.facts.devices.get(resource)
    if engine.repository is None and device is not None and not device.repository:
        yield Finding(
            "ENG006",
            "engine.image.repository",
            f"engine.image.repository is not set, and {engine.name} has no image of its own that runs on {resource}",
            "Set engine.image.repository and engine.version to an image that does.",
            {"engine.name": engine.name, "group.resourceName": resource},
        )


def multi_node_version(release: Release) -> Iterator[Finding]:
    """Refuse several nodes with an engine that cannot span them."""
    engine, nodes = release.engine, release.group.nodes
    if nodes > 1 and engine.executor != "ray" and version(engine.version) < version(engine.facts.multi_node_since):
        yield Finding(
            "ENG003",
            "engine.version",
            f"engine.version is {engine.version} and group.nodes {nodes}, but Lockstep spans nodes with "
            f"{engine.name} only from {engine.facts.multi_node_since} on",
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
    return name in row.short or (len(name) > len("tp") and row.name.replace("_", "-").startswith(name))
