"""PodCliqueSet: what Grove's operator makes of it (ai-dynamo/grove v0.1.0-alpha.11).

Each clique of the scaling group is a set of pods that count from 0. A deleted pod comes back with the same hostname
and another name; the other pods stay, so whatever runs in them has to notice.
"""

from __future__ import annotations

import copy
import uuid
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree
from lockstep.rehearse.pod import Pod

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.tree import Node


def size(owner: Node) -> int:
    """Return the pods of all cliques."""
    return len(_members(owner))


def recreates(owner: Node) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: only a group that is not Ready for terminationDelay is made anew."""
    return False


def falls_with(owner: Node, rank: int) -> bool:  # noqa: ARG001 - one of several stacks
    """Return false: the others keep running."""
    return False


def pod(group: Group, rank: int) -> Pod:
    """Make a pod of the first group."""
    clique, index = _members(group.owner)[rank]
    template = copy.deepcopy(clique)
    scaling, size_of_one = f"{group.name}-0-{_scaling(group.owner)['name']}", len(_members(group.owner))
    owner = f"{scaling}-0-{tree.text(clique, 'name')}"
    uid = str(uuid.uuid4())
    # Grove's own labels win over the template's.
    labels = tree.strings(template, "labels") | {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": group.name,
        "app.kubernetes.io/name": owner,
        "app.kubernetes.io/component": "pcsg-podclique",
        "grove.io/podclique": owner,
        "grove.io/podgang": f"{group.name}-0",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podclique-pod-index": str(index),
        "grove.io/podcliquescalinggroup": scaling,
        "grove.io/podcliquescalinggroup-replica-index": "0",
    }
    added = {
        "GROVE_PCS_NAME": group.name,
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": owner,
        "GROVE_HEADLESS_SERVICE": f"{group.name}-0.{group.namespace}.svc.cluster.local",
        "GROVE_PCLQ_POD_INDEX": str(index),
        "GROVE_PCSG_NAME": scaling,
        "GROVE_PCSG_INDEX": "0",
        "GROVE_PCSG_TEMPLATE_NUM_PODS": str(size_of_one),
    }
    spec = tree.mapping(template, "spec", "podSpec")
    for container in tree.items(spec, "containers") + tree.items(spec, "initContainers"):
        # Behind all others: a variable of the template cannot refer to them, only the command can.
        container["env"] = tree.items(container, "env") + [
            {"name": key, "value": value} for key, value in added.items()
        ]
    published = tree.mapping(group.owner, "spec", "template", "headlessServiceConfig").get("publishNotReadyAddresses")
    subdomain = "" if published is False else f"{group.name}-0"
    name, annotations = f"{owner}-{uid[:5]}", tree.strings(template, "annotations")
    return Pod(name, group.namespace, uid, rank, f"{owner}-{index}", subdomain, labels, annotations, spec)


def _scaling(owner: Node) -> Node:
    """Return the scaling group."""
    found = tree.items(owner, "spec", "template", "podCliqueScalingGroups")
    if len(found) != 1:
        raise LockstepError(
            f"a rehearsal needs one podCliqueScalingGroup in the PodCliqueSet, and there are {len(found)}"
        )
    return found[0]


def _members(owner: Node) -> list[tuple[Node, int]]:
    """Return clique and number of every pod, in the order of ranks: the leader's clique is the first."""
    cliques = {tree.text(each, "name"): each for each in tree.items(owner, "spec", "template", "cliques")}
    return [
        (cliques[name], index)
        for name in tree.words(_scaling(owner), "cliqueNames")
        for index in range(int(tree.number(cliques[name], "spec", "replicas", default=0)))
    ]
