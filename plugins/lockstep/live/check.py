"""The findings of objects against a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.live import apis, nodes, pods, queues

if TYPE_CHECKING:
    from lockstep.live.cluster import Cluster
    from lockstep.rehearse.tree import Node

_RULES: Final = (
    apis.kinds,
    apis.controllers,
    nodes.nodes,
    queues.queues,
    queues.patience,
    pods.claims,
    pods.storage,
    pods.security,
    pods.priorities,
)


def check(objects: list[Node], namespace: str, cluster: Cluster) -> list[Finding]:
    """Hold objects against a cluster.

    Parameters
    ----------
    objects : list of Node
        What would be applied.
    namespace : str
        Where to.
    cluster : Cluster
        The cluster.

    Returns
    -------
    list of Finding
        What does not go together, and what could not be read.

    Raises
    ------
    UsageError
        If the cluster cannot be reached.
    """
    before = set(cluster.refused)
    found = [finding for rule in _RULES for finding in rule(objects, namespace, cluster)]
    return found + [
        Finding(
            "CLU012",
            kind,
            f"{kind} of the cluster could not be read ({cluster.refused[kind]}): they were not compared",
            "Let this user get and list them, or compare by hand.",
        )
        for kind in sorted(cluster.refused.keys() - before)
    ]
