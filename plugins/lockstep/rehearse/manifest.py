"""Find the group among rendered objects, and make its pods as its controller would."""

from __future__ import annotations

import copy
import hashlib
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from lockstep.rehearse.tree import Node

LWS = "leaderworkerset.sigs.k8s.io"


@dataclass(frozen=True)
class Pod:
    """One pod as it is after admission.

    Attributes
    ----------
    rank : int
        0 for the leader.
    subdomain : str
        Of its DNS name; empty when it has none.
    spec : Node
        The pod spec, with the variables that the controller adds.
    """

    name: str
    namespace: str
    uid: str
    rank: int
    subdomain: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Node

    @property
    def role(self) -> str:
        """``leader`` or ``worker-1`` and so on."""
        return "leader" if self.rank == 0 else f"worker-{self.rank}"

    @property
    def names(self) -> list[str]:
        """Under which it resolves inside the cluster."""
        if not self.subdomain:
            return [self.name]
        short = f"{self.name}.{self.subdomain}"
        long = [f"{short}.{self.namespace}{end}" for end in ("", ".svc", ".svc.cluster.local")]
        return [self.name, short, *long]

    def container(self) -> Node:
        """Return the engine container: the one that carries the contract's variables.

        Raises
        ------
        LockstepError
            When no container does.
        """
        for container in tree.items(self.spec, "containers"):
            if any(tree.text(entry, "name") == "LOCKSTEP_ENGINE" for entry in tree.items(container, "env")):
                return container
        raise LockstepError(
            f"pod {self.name}: no container has LOCKSTEP_ENGINE in its env; was it rendered by Lockstep?"
        )


@dataclass(frozen=True)
class Group:
    """One replica of the release.

    Attributes
    ----------
    stack : str
        ``lws`` or ``deployment``.
    size : int
        Pods of the group.
    recreates : bool
        Whether the controller replaces the whole group when one of its pods is lost or restarts.
    objects : list of Node
        Everything that was rendered.
    """

    stack: str
    name: str
    namespace: str
    size: int
    recreates: bool
    owner: Node
    objects: list[Node] = field(repr=False)

    def pods(self) -> list[Pod]:
        """Make the pods of a new life of the group, the leader first."""
        return [self.pod(rank) for rank in range(self.size)]

    def pod(self, rank: int) -> Pod:
        """Make one pod with a new uid."""
        return _lws_pod(self, rank) if self.stack == "lws" else _deployment_pod(self)

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
    owners = [each for each in objects if each.get("kind") in ("LeaderWorkerSet", "Deployment")]
    if len(owners) != 1:
        kinds = ", ".join(sorted({tree.text(each, "kind") for each in objects})) or "nothing"
        raise LockstepError(
            f"a rehearsal needs one LeaderWorkerSet or one Deployment, but the chart rendered {kinds} "
            f"({len(owners)} of them fit)"
        )
    (owner,) = owners
    name = tree.text(owner, "metadata", "name")
    namespace = tree.text(owner, "metadata", "namespace", default=namespace)
    if owner["kind"] == "Deployment":
        return Group("deployment", name, namespace, 1, False, owner, objects)
    template = tree.mapping(owner, "spec", "leaderWorkerTemplate")
    policy = tree.text(template, "restartPolicy", default="RecreateGroupOnPodRestart")
    size = int(tree.number(template, "size", default=1))
    return Group("lws", name, namespace, size, policy.startswith("RecreateGroup"), owner, objects)


def _lws_pod(group: Group, rank: int) -> Pod:
    """Do what the LeaderWorkerSet controller and its pod webhook do (kubernetes-sigs/lws, pkg/utils/pod)."""
    body = tree.mapping(group.owner, "spec", "leaderWorkerTemplate")
    template = copy.deepcopy(tree.mapping(body, "workerTemplate"))
    if rank == 0 and body.get("leaderTemplate"):
        template = copy.deepcopy(tree.mapping(body, "leaderTemplate"))
    leader = f"{group.name}-0"
    policy = tree.text(group.owner, "spec", "networkConfig", "subdomainPolicy", default="Shared")
    subdomain = leader if policy == "UniquePerReplica" else group.name
    labels = tree.strings(template, "metadata", "labels") | {
        f"{LWS}/name": group.name,
        f"{LWS}/group-index": "0",
        f"{LWS}/worker-index": str(rank),
        f"{LWS}/group-key": hashlib.sha1(f"{group.namespace}/{leader}".encode(), usedforsecurity=False).hexdigest(),
    }
    annotations = tree.strings(template, "metadata", "annotations") | {f"{LWS}/size": str(group.size)}
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
    return Pod(name, group.namespace, str(uuid.uuid4()), rank, subdomain, labels, annotations, spec)


def _deployment_pod(group: Group) -> Pod:
    template = copy.deepcopy(tree.mapping(group.owner, "spec", "template"))
    uid = str(uuid.uuid4())
    return Pod(
        f"{group.name}-{uid[:5]}",
        group.namespace,
        uid,
        0,
        "",
        tree.strings(template, "metadata", "labels"),
        tree.strings(template, "metadata", "annotations"),
        tree.mapping(template, "spec"),
    )
