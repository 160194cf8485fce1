"""StatefulSet, which is one whole group on stack kueue: the number of the pod is its rank.

A deleted pod comes back under its own name, a container restarts in its pod, and nothing couples the pods but
what runs in them.
"""

from __future__ import annotations

import copy
import uuid
from typing import TYPE_CHECKING

from lockstep.rehearse import tree
from lockstep.rehearse.pod import Pod

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.tree import Node


def size(owner: Node) -> int:
    """Return all its pods."""
    return int(tree.number(owner, "spec", "replicas", default=1))


def recreates(owner: Node) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: each pod is replaced by itself."""
    return False


def falls_with(owner: Node, rank: int) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: the others keep running."""
    return False


def pod(group: Group, rank: int) -> Pod:
    """Make a pod (kubernetes, pkg/controller/statefulset/stateful_set_utils.go)."""
    template = copy.deepcopy(tree.mapping(group.owner, "spec", "template"))
    name = f"{group.name}-{rank}"
    labels = tree.strings(template, "metadata", "labels") | {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(rank),
    }
    annotations = tree.strings(template, "metadata", "annotations")
    spec = tree.mapping(template, "spec")
    subdomain = _subdomain(group, labels)
    return Pod(name, group.namespace, str(uuid.uuid4()), rank, name, subdomain, labels, annotations, spec)


def _subdomain(group: Group, labels: dict[str, str]) -> str:
    """Return the Service under which the pod has a name before it is Ready; empty when none was rendered."""
    name = tree.text(group.owner, "spec", "serviceName")
    service = group.find("Service", name) or {}
    fits = tree.strings(service, "spec", "selector").items() <= labels.items()
    headless = tree.text(service, "spec", "clusterIP") == "None"
    published = tree.mapping(service, "spec").get("publishNotReadyAddresses") is True
    return name if service and headless and published and fits else ""
