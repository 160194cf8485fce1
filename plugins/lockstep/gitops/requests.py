"""What a group asks for, summed over its pods, and on which nodes it may run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from lockstep.quantity import amount
from lockstep.release import table, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lockstep.yamlfile import Value, Values


@dataclass(frozen=True)
class Claim:
    """One group's claim: amounts by resource, and the node labels that its pods insist on."""

    resources: Mapping[str, Decimal]
    selector: Mapping[str, Value]


def claim(objects: tuple[Values, ...]) -> Claim | None:
    """Add up what one group of a release asks for.

    Parameters
    ----------
    objects : tuple of Values
        The release's objects.

    Returns
    -------
    Claim or None
        None if no object among them runs groups.
    """
    for item in objects:
        pods = list(_pods(item))
        if pods:
            total: dict[str, Decimal] = {}
            for count, pod in pods:
                for resource, each in _of_pod(pod).items():
                    total[resource] = total.get(resource, Decimal(0)) + each * count
            return Claim(total, {key: value for _, pod in pods for key, value in table(pod, "nodeSelector").items()})
    return None


def _pods(item: Values) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Give the pods of one group with their number."""
    spec = table(item, "spec")
    if item.get("kind") == "LeaderWorkerSet":
        group = table(spec, "leaderWorkerTemplate")
        worker = table(table(group, "workerTemplate"), "spec")
        yield 1, table(table(group, "leaderTemplate"), "spec") or worker
        yield whole(group.get("size", 1)) - 1, worker
    elif item.get("kind") in ("StatefulSet", "Deployment"):
        yield (
            (whole(spec.get("replicas", 1)) if item["kind"] == "StatefulSet" else 1),
            table(table(spec, "template"), "spec"),
        )
    elif item.get("kind") == "PodCliqueSet":
        cliques = table(spec, "template").get("cliques")
        for clique in cliques if isinstance(cliques, list) else []:
            inner = table(clique, "spec") if isinstance(clique, dict) else {}
            yield whole(inner.get("replicas", 1)), table(inner, "podSpec")


def _of_pod(pod: Mapping[str, Value]) -> dict[str, Decimal]:
    """Add up the containers; a limit stands in for a request, and of the init containers the largest counts."""
    running = _sum(pod.get("containers"))
    for container in _rows(pod.get("initContainers")):
        for resource, each in _of_container(container).items():
            running[resource] = max(running.get(resource, Decimal(0)), each)
    return running


def _sum(containers: Value) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for container in _rows(containers):
        for resource, each in _of_container(container).items():
            total[resource] = total.get(resource, Decimal(0)) + each
    return total


def _of_container(container: Values) -> dict[str, Decimal]:
    resources = table(container, "resources")
    both = {**table(resources, "limits"), **table(resources, "requests")}
    return {key: amount(str(value)) or Decimal(0) for key, value in both.items()}


def _rows(value: Value) -> list[Values]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
