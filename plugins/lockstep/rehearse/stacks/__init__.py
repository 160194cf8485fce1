"""What each stack's controller makes of its object: one module for a kind, all with the functions of ``Stack``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lockstep.rehearse.stacks import deployment, lws, podcliqueset, statefulset

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.tree import Node


class Stack(Protocol):
    """What the controller's part in a rehearsal asks."""

    def size(self, owner: Node) -> int:
        """Return how many pods a group has."""

    def recreates(self, owner: Node) -> bool:
        """Return whether a lost pod or a restarted container makes the whole group anew."""

    def falls_with(self, owner: Node, rank: int) -> bool:
        """Return whether the whole group goes when the pod of this rank is deleted."""

    def pod(self, group: Group, rank: int) -> Pod:
        """Make one pod, with a new uid."""


STACKS: dict[str, Stack] = {
    "LeaderWorkerSet": lws,
    "StatefulSet": statefulset,
    "PodCliqueSet": podcliqueset,
    "Deployment": deployment,
}
