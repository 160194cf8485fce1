"""Deployment: a group of one pod, which is its own leader."""

from __future__ import annotations

import copy
import uuid
from typing import TYPE_CHECKING

from lockstep.rehearse import tree
from lockstep.rehearse.pod import Pod

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.tree import Node


def size(owner: Node) -> int:  # noqa: ARG001 - one of several stacks
    """Return one."""
    return 1


def recreates(owner: Node) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: kubelet restarts the container, and the pod stays."""
    return False


def falls_with(owner: Node, rank: int) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: a deleted pod is replaced by itself."""
    return False


def pod(group: Group, rank: int) -> Pod:
    """Make the pod."""
    template = copy.deepcopy(tree.mapping(group.owner, "spec", "template"))
    uid = str(uuid.uuid4())
    name = f"{group.name}-{uid[:5]}"
    labels = tree.strings(template, "metadata", "labels")
    annotations = tree.strings(template, "metadata", "annotations")
    return Pod(name, group.namespace, uid, rank, name, "", labels, annotations, tree.mapping(template, "spec"))
