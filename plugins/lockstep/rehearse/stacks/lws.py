"""LeaderWorkerSet: what its controller and its pod webhook do (kubernetes-sigs/lws, pkg/utils/pod)."""

from __future__ import annotations

import copy
import hashlib
import uuid
from typing import TYPE_CHECKING

from lockstep.rehearse import tree
from lockstep.rehearse.pod import Pod

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.tree import Node

PREFIX = "leaderworkerset.sigs.k8s.io"


def size(owner: Node) -> int:
    """Return leader and workers together."""
    return int(tree.number(owner, "spec", "leaderWorkerTemplate", "size", default=1))


def recreates(owner: Node) -> bool:
    """Return what the restart policy says."""
    policy = tree.text(owner, "spec", "leaderWorkerTemplate", "restartPolicy", default="RecreateGroupOnPodRestart")
    return policy.startswith("RecreateGroup")


def falls_with(owner: Node, rank: int) -> bool:
    """Return true for the leader, whatever the policy: it owns the workers' StatefulSet."""
    return rank == 0 or recreates(owner)


def pod(group: Group, rank: int) -> Pod:
    """Make a pod of the first group."""
    body = tree.mapping(group.owner, "spec", "leaderWorkerTemplate")
    template = copy.deepcopy(tree.mapping(body, "workerTemplate"))
    if rank == 0 and body.get("leaderTemplate"):
        template = copy.deepcopy(tree.mapping(body, "leaderTemplate"))
    leader = f"{group.name}-0"
    policy = tree.text(group.owner, "spec", "networkConfig", "subdomainPolicy", default="Shared")
    subdomain = leader if policy == "UniquePerReplica" else group.name
    labels = tree.strings(template, "metadata", "labels") | {
        f"{PREFIX}/name": group.name,
        f"{PREFIX}/group-index": "0",
        f"{PREFIX}/worker-index": str(rank),
        f"{PREFIX}/group-key": hashlib.sha1(f"{group.namespace}/{leader}".encode(), usedforsecurity=False).hexdigest(),
    }
    annotations = tree.strings(template, "metadata", "annotations") | {f"{PREFIX}/size": str(group.size)}
    spec = tree.mapping(template, "spec")
    added = {
        "LWS_LEADER_ADDRESS": f"{leader}.{subdomain}.{group.namespace}",
        "LWS_GROUP_SIZE": str(group.size),
        "LWS_WORKER_INDEX": str(rank),
    }
    for container in tree.items(spec, "containers") + tree.items(spec, "initContainers"):
        own = [entry for entry in tree.items(container, "env") if entry.get("name") not in added]
        container["env"] = [{"name": name, "value": value} for name, value in added.items()] + own
    name = leader if rank == 0 else f"{leader}-{rank}"
    return Pod(name, group.namespace, str(uuid.uuid4()), rank, name, subdomain, labels, annotations, spec)
