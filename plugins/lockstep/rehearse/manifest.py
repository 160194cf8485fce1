"""Find the group among rendered objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree
from lockstep.rehearse.stacks import STACKS

if TYPE_CHECKING:
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.stacks import Stack
    from lockstep.rehearse.tree import Node


@dataclass(frozen=True)
class Group:
    """One replica of the release.

    Attributes
    ----------
    owner : Node
        The object whose controller makes its pods.
    objects : list of Node
        Everything that was rendered.
    """

    name: str
    namespace: str
    owner: Node
    objects: list[Node] = field(repr=False)

    @property
    def stack(self) -> Stack:
        """What its controller does."""
        return STACKS[tree.text(self.owner, "kind")]

    @property
    def size(self) -> int:
        """Pods of the group."""
        return self.stack.size(self.owner)

    @property
    def recreates(self) -> bool:
        """Whether the controller replaces the whole group when a container of it restarts."""
        return self.stack.recreates(self.owner)

    def falls_with(self, rank: int) -> bool:
        """Return whether the whole group is replaced when one of its pods is deleted."""
        return self.stack.falls_with(self.owner, rank)

    def pods(self) -> list[Pod]:
        """Make the pods of a new life of the group, the leader first."""
        return [self.pod(rank) for rank in range(self.size)]

    def pod(self, rank: int) -> Pod:
        """Make one pod with a new uid."""
        return self.stack.pod(self, rank)

    def find(self, kind: str, name: str) -> Node | None:
        """Return a rendered object of this namespace."""
        for each in self.objects:
            if each.get("kind") == kind and tree.text(each, "metadata", "name") == name:
                return each
        return None


def find_group(objects: list[Node], namespace: str) -> Group:
    """Return the first group of a release.

    Raises
    ------
    LockstepError
        When there is no object that a rehearsal knows, or more than one.
    """
    owners = [each for each in objects if each.get("kind") in STACKS]
    if len({each["kind"] for each in owners}) != 1 or (len(owners) > 1 and owners[0]["kind"] != "StatefulSet"):
        kinds = ", ".join(sorted({tree.text(each, "kind") for each in objects})) or "nothing"
        raise LockstepError(
            f"a rehearsal needs one of {', '.join(STACKS)}, but the chart rendered {kinds} ({len(owners)} of them fit)"
        )
    owner = owners[0]  # of several StatefulSets each is a group
    return Group(
        tree.text(owner, "metadata", "name"),
        tree.text(owner, "metadata", "namespace", default=namespace),
        owner,
        objects,
    )
