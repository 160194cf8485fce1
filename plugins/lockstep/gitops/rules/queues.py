"""Queues: whether the one that a release waits in is there, and whether it can ever let a group in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.gitops.deployed import on
from lockstep.gitops.requests import claim
from lockstep.quantity import amount
from lockstep.release import table, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockstep.gitops.deployed import Deployed
    from lockstep.gitops.fleet import Fleet
    from lockstep.gitops.requests import Claim
    from lockstep.release import Release
    from lockstep.yamlfile import Value, Values

    Found = Iterator[tuple[Path, Finding]]

_LOCAL = "LocalQueue"
_DEFAULT = "serving"  # the name that charts/serving asks for when the values name none


def admitted(_fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Refuse a release whose queue is not in Git, or too small for one group, where queues are kept in Git at all."""
    for each in deployed:
        release = each.release
        if release is None or each.given is None or release.manager not in ("kueue", "kai"):
            continue
        queues = [item for other in on(deployed, each.application.server) for item in other.objects if _is_queue(item)]
        asked = claim(each.objects)
        if not queues or asked is None:
            continue
        look = _kueue if release.manager == "kueue" else _kai
        for reason, fix in look(release, each.application.namespace, queues, asked):
            yield (
                each.given.file,
                Finding(
                    "GIT009",
                    "queue.name",
                    f"{each.application.name} waits in the queue {_name(release)}: {reason}",
                    fix,
                    {"queue.name": _name(release), "group": release.group.gpus},
                ),
            )


def _name(release: Release) -> str:
    return release.queue.name or _DEFAULT


def _is_queue(item: Values) -> bool:
    return item.get("kind") in (_LOCAL, "ClusterQueue", "Queue", "ResourceFlavor")


def _metadata(item: Values, key: str) -> str:
    return str(table(item, "metadata").get(key) or "")


def _kueue(release: Release, namespace: str, queues: list[Values], asked: Claim) -> Iterator[tuple[str, str]]:
    """Follow a LocalQueue to its ClusterQueue, and fit the group into one of its flavors."""
    locals_ = [item for item in queues if item["kind"] == _LOCAL and _metadata(item, "name") == _name(release)]
    here = next((item for item in locals_ if _metadata(item, "namespace") == namespace), None)
    if here is None:
        others = ", ".join(sorted(_metadata(item, "namespace") for item in locals_))
        where = f" (there is one in {others})" if others else ""
        yield f"Git has no LocalQueue of that name in namespace {namespace}{where}", "Add the namespace to the queue."
        return
    target = text(table(here, "spec"), "clusterQueue")
    cluster = next(
        (item for item in queues if item["kind"] == "ClusterQueue" and _metadata(item, "name") == target), None
    )
    if cluster is None:
        yield f"its ClusterQueue {target} is not in Git", "Add it."
        return
    flavors = {
        _metadata(item, "name"): table(table(item, "spec"), "nodeLabels")
        for item in queues
        if item["kind"] == "ResourceFlavor"
    }
    for resource, wanted in asked.resources.items():
        rooms = {
            flavor: room
            for flavor, room in _rooms(cluster, resource, queues).items()
            if _fits(flavors.get(flavor, {}), asked)
        }
        if not rooms:
            yield (
                f"it has no {resource} on nodes that the pods may use, so Kueue never admits them",
                "Add the resource to the pool (devicesPerNode), or a pool with the nodes' labels.",
            )
        elif wanted > max(rooms.values()):
            flavor = max(rooms, key=rooms.__getitem__)
            yield (
                f"a group asks for {_short(wanted)} {resource}, and it can have {_short(rooms[flavor])} at most, of "
                f"{flavor}",
                "Give the queue more nodes, or make the group smaller.",
            )


def _fits(labels: object, asked: Claim) -> bool:
    pairs = labels.items() if isinstance(labels, dict) else ()
    return all(key not in asked.selector or asked.selector[key] == value for key, value in pairs)


def _rooms(cluster: Values, resource: str, queues: list[Values]) -> dict[str, Decimal]:
    """Give what a queue can have of a resource by flavor: its own, and what it may borrow of what others have."""
    rooms = {}
    cohort = text(table(cluster, "spec"), "cohortName")
    others = [
        item
        for item in queues
        if item["kind"] == "ClusterQueue" and item is not cluster and text(table(item, "spec"), "cohortName") == cohort
    ]
    for flavor, row in _quotas(cluster, resource):
        lent = sum(
            (
                _number(each, "nominalQuota")
                for item in others
                for name, each in _quotas(item, resource)
                if name == flavor
            ),
            Decimal(0),
        )
        limit = min(_number(row, "borrowingLimit"), lent) if "borrowingLimit" in row else lent
        rooms[flavor] = _number(row, "nominalQuota") + (limit if cohort else Decimal(0))
    return rooms


def _quotas(cluster: Values, resource: str) -> Iterator[tuple[str, Values]]:
    for group in _rows(table(cluster, "spec").get("resourceGroups")):
        for flavor in _rows(group.get("flavors")):
            for row in _rows(flavor.get("resources")):
                if row.get("name") == resource:
                    yield str(flavor.get("name")), row


def _kai(release: Release, _namespace: str, queues: list[Values], asked: Claim) -> Iterator[tuple[str, str]]:
    """Find the queue, and fit the group's GPUs into the limits of it and of its parents."""
    by_name = {_metadata(item, "name"): item for item in queues if item["kind"] == "Queue"}
    name: str | None = _name(release)
    if name not in by_name:
        yield "Git has no such Queue of KAI", "Add it, or name one of " + (", ".join(sorted(by_name)) or "none") + "."
        return
    wanted = asked.resources.get(release.group.resource, Decimal(0))
    while name in by_name:
        spec = table(by_name[name], "spec")
        limit = _number(table(table(spec, "resources"), "gpu"), "limit")
        if 0 <= limit < wanted:
            yield (
                f"a group asks for {_short(wanted)} GPUs, and {name} can have {_short(limit)} at most",
                "Give the queue more nodes, or make the group smaller.",
            )
        name = text(spec, "parentQueue")


def _number(row: object, key: str) -> Decimal:
    value: Value = row.get(key) if isinstance(row, dict) else None
    if isinstance(value, (int, float)):
        return Decimal(str(value))
    return (amount(str(value)) if value is not None else None) or Decimal(0)


def _rows(value: Value) -> list[Values]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _short(number: Decimal) -> str:
    for unit, size in (("Ti", Decimal(1024) ** 4), ("Gi", Decimal(1024) ** 3)):
        if number >= size:
            return f"{number / size:.4g}{unit}"
    return f"{number:f}".rstrip("0").rstrip(".") if "." in f"{number:f}" else f"{number:f}"
