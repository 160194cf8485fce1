"""Names: what Helm, Kubernetes and LeaderWorkerSet can make of the release's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.inputs import NAME_RULE, is_release_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.inputs import Input
    from lockstep.release import Release

_DNS_1035: Final = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_LABEL: Final = 63  # longest label value and longest Service name
_GROVE: Final = 45  # characters of the names of set, scaling group and clique together (v0.1.0-alpha.11)
_REPAIR: Final = "Choose another name (rename the file, or --name), or set fullnameOverride."


def release(given: Input) -> Iterator[Finding]:
    """Refuse a release name that Helm itself would not take."""
    if not is_release_name(given.name):
        yield Finding(
            "STK002",
            "",
            f'Helm takes no release named "{given.name}": {NAME_RULE}',
            "Rename the file, or give --name.",
            {"name": given.name},
        )


def possible(release: Release) -> Iterator[Finding]:
    """Require a DNS-1035 label: the group's object names Services."""
    name = release.fullname
    if not _DNS_1035.fullmatch(name):
        yield Finding(
            "STK002",
            "fullnameOverride",
            f'name "{name}" is not possible: it must begin with a lower-case letter, end with a letter or digit and '
            "hold only a-z, 0-9 and -",
            _REPAIR,
            {"name": name},
        )


def length(release: Release) -> Iterator[Finding]:
    """Refuse a name from which the stack would make labels or Services that are too long."""
    name = release.fullname
    longest, reason = _budget(release)
    if len(name) > longest:
        yield Finding(
            "STK002",
            "fullnameOverride",
            f'name "{name}" has {len(name)} characters, but {longest} is the limit ({reason})',
            _REPAIR,
            {"name": name},
        )


def _budget(release: Release) -> tuple[int, str]:
    """Say how long the name may be on this stack, and why.

    On LeaderWorkerSet each group's workers are a StatefulSet ``<name>-<group>``, whose pods carry the label
    ``<name>-<group>-<hash>`` with a hash of up to 10 characters (kubernetes-sigs/lws#410). On stack kueue the pods
    carry the name of their Workload, made of the kind, the set's name and five characters (kueue v0.17
    pkg/controller/jobframework/workload_names.go).
    """
    if release.stack.name == "deployment":
        suffix = len("-api")
        return _LABEL - suffix, f"{_LABEL} characters of a Service name less {suffix} for -api"
    if release.stack.name == "grove":
        size = f"-n{release.group.nodes}"
        rest = len("g") + len("worker")
        return _GROVE - rest - len(size), (
            f"Grove has {_GROVE} characters for its three names, less {rest} for g and worker and {len(size)} for "
            f"{size}"
        )
    surge = release.rollout.surge if release.stack.name == "lws" else 0
    last = max(1, release.rollout.most + surge) - 1
    digits = len(str(last))
    if release.stack.name == "kueue":
        rest = len("statefulset-") + len("-") + len("-revise") + len("-") + 5
        return _LABEL - rest - digits, (
            f"Kueue labels pods statefulset-<name>-<group>-<revision>-<hash>: {_LABEL} characters less {rest} for the "
            f"rest and {digits} for group {last}"
        )
    if release.manager == "kueue":
        rest = len("leaderworkerset-") + len("-shapes") + len("-") + len("-") + 5
        return _LABEL - rest - digits, (
            f"Kueue labels pods leaderworkerset-<name>-<shape>-<group>-<hash>: {_LABEL} characters less {rest} for the "
            f"rest and {digits} for group {last}"
        )
    rest = len("-") + len("-") + 10
    return _LABEL - rest - digits, (
        f"LeaderWorkerSet labels its workers <name>-<group>-<hash>: {_LABEL} characters less {rest} for the rest and "
        f"{digits} for group {last}"
    )
