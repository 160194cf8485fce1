"""Find the groups of a release among its rendered objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.yamlfile import Value, Values

# Where each kind keeps what its pods are made from: a change of it replaces them.
KINDS: Final = {
    "LeaderWorkerSet": ("leaderWorkerTemplate", "networkConfig"),
    "Deployment": ("template",),
    "StatefulSet": ("template", "replicas"),
    "PodCliqueSet": ("template",),
}
# Parts of a template that change nothing in a pod (seen with Grove v0.1.0-alpha.11).
_OF_THE_SET: Final = ("terminationDelay", "priorityClassName")


@dataclass(frozen=True)
class Groups:
    """Groups that one object runs.

    Parameters
    ----------
    kind, name : str
        The object.
    count : int or None
        How many groups; None where an autoscaler decides.
    template : tuple of Value
        What their pods are made from.
    unavailable, surge : str
        Groups that may be missing or extra during an upgrade, as rendered.
    """

    kind: str
    name: str
    count: int | None
    template: tuple[Value, ...]
    unavailable: str
    surge: str


def find(objects: Sequence[Values]) -> dict[str, Groups]:
    """Find them.

    Parameters
    ----------
    objects : sequence of Values
        Rendered objects.

    Returns
    -------
    dict of str to Groups
        By ``kind/name``, in rendered order.
    """
    found = (_groups(item) for item in objects if item.get("kind") in KINDS)
    return {f"{each.kind}/{each.name}": each for each in found}


def _groups(item: Values) -> Groups:
    kind = str(item["kind"])
    spec = _table(item.get("spec"))
    replicas = 1 if kind == "StatefulSet" else spec.get("replicas")
    strategy = _table(_table(spec.get("rolloutStrategy")).get("rollingUpdateConfiguration")) or _table(
        _table(spec.get("strategy")).get("rollingUpdate")
    )
    return Groups(
        kind,
        str(_table(item.get("metadata"))["name"]),
        replicas if isinstance(replicas, int) else None,
        tuple(_without(spec.get(part)) for part in KINDS[kind]),
        str(strategy.get("maxUnavailable", 1)),
        str(strategy.get("maxSurge", 0)),
    )


def _without(part: Value) -> Value:
    return {key: value for key, value in part.items() if key not in _OF_THE_SET} if isinstance(part, dict) else part


def _table(value: Value) -> Values:
    return value if isinstance(value, dict) else {}
