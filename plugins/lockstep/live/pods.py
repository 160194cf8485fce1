"""What pods ask of their namespace: claims, priority classes and a Pod Security level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.manifests import workloads
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.live.cluster import Cluster
    from lockstep.rehearse.tree import Node

_LEVELS: Final = ("privileged", "baseline", "restricted")
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
# Kubernetes, Pod Security Standards: what `baseline` still allows, and the volumes that `restricted` does.
_BASELINE: Final = {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
_VOLUMES: Final = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")


def claims(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require the claims that pods mount, and that pods on several nodes can share them."""
    made = {tree.text(item, "metadata", "name") for item in objects if item.get("kind") == "PersistentVolumeClaim"}
    for workload in workloads.find(objects):
        used = {
            tree.text(volume, "persistentVolumeClaim", "claimName"): None
            for pods in workload.pods
            for volume in tree.items(pods.spec, "volumes")
        }
        for name in (name for name in used if name and name not in made):
            there = cluster.named("persistentvolumeclaims", namespace)
            if there is None:
                return
            if name not in there:
                yield Finding(
                    "CLU008",
                    workload.label,
                    f"namespace {namespace} has no PersistentVolumeClaim {name}: it has "
                    f"{', '.join(sorted(there)) or 'none'}",
                    "Make it, or name another claim.",
                    {"claim": name},
                )
            elif workload.size > 1 and not {"ReadOnlyMany", "ReadWriteMany"} & set(
                tree.words(there[name], "spec", "accessModes")
            ):
                modes = ", ".join(tree.words(there[name], "spec", "accessModes"))
                yield Finding(
                    "CLU008",
                    workload.label,
                    f"PersistentVolumeClaim {name} is {modes}, but the pods of a group lie on {workload.size} nodes",
                    "Take a claim with ReadOnlyMany or ReadWriteMany.",
                    {"claim": name, "accessModes": modes},
                )


def storage(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require the storage classes of claims that are made."""
    del namespace
    for item in (item for item in objects if item.get("kind") == "PersistentVolumeClaim"):
        name = tree.text(item, "spec", "storageClassName")
        there = cluster.named("storageclasses.storage.k8s.io") if name else None
        if there is not None and name not in there:
            yield Finding(
                "CLU008",
                f"PersistentVolumeClaim/{tree.text(item, 'metadata', 'name')}",
                f"the cluster has no StorageClass {name}: it has {', '.join(sorted(there)) or 'none'}",
                "Name another class.",
                {"storageClassName": name},
            )


def security(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require a Pod Security level of the namespace that lets the pods in."""
    there = cluster.named("namespaces")
    enforced = tree.strings((there or {}).get(namespace, {}), "metadata", "labels").get(_ENFORCE, "privileged")
    if enforced not in _LEVELS[1:]:
        return
    for workload in workloads.find(objects):
        needed, reason = max((_needs(pods.spec) for pods in workload.pods), key=lambda found: -_LEVELS.index(found[0]))
        if _LEVELS.index(needed) < _LEVELS.index(enforced):
            yield Finding(
                "CLU009",
                workload.label,
                f"namespace {namespace} enforces the Pod Security level {enforced}, but its pods need {needed}: "
                f"{reason}",
                f"Label the namespace {_ENFORCE}: {needed}, or choose another.",
                {_ENFORCE: enforced},
            )


def priorities(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require the priority classes of pods: without its class a pod is refused."""
    del namespace
    for workload in workloads.find(objects):
        for name in dict.fromkeys(tree.text(pods.spec, "priorityClassName") for pods in workload.pods):
            there = cluster.named("priorityclasses.scheduling.k8s.io") if name and name not in _BUILT_IN else None
            if there is not None and name not in there:
                yield Finding(
                    "CLU010",
                    workload.label,
                    f"the cluster has no PriorityClass {name}: it has {', '.join(sorted(there)) or 'none'}",
                    "Make it, or name another.",
                    {"priorityClassName": name},
                )


def _needs(spec: Node) -> tuple[str, str]:
    """Give the strictest level that takes a pod, with what keeps it from the next (Pod Security Standards)."""
    containers = [*tree.items(spec, "initContainers"), *tree.items(spec, "containers")]
    for reason in _beyond_baseline(spec, containers):
        return "privileged", reason
    for reason in _beyond_restricted(spec, containers):
        return "baseline", reason
    return "restricted", ""


def _beyond_baseline(spec: Node, containers: list[Node]) -> Iterator[str]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key) is True:
            yield f"{key}: true"
    yield from (f"the host path volume {v.get('name')}" for v in tree.items(spec, "volumes") if "hostPath" in v)
    for container in containers:
        name = tree.text(container, "name")
        if tree.mapping(container, "securityContext").get("privileged") is True:
            yield f"container {name} is privileged"
        added = set(tree.words(container, "securityContext", "capabilities", "add")) - _BASELINE
        if added:
            yield f"container {name} adds {', '.join(sorted(added))}"
        if any(port.get("hostPort") for port in tree.items(container, "ports")):
            yield f"container {name} has a hostPort"


def _beyond_restricted(spec: Node, containers: list[Node]) -> Iterator[str]:
    pod = tree.mapping(spec, "securityContext")
    for volume in tree.items(spec, "volumes"):
        if not _VOLUMES & volume.keys():
            yield f"volume {volume.get('name')} is of a kind that restricted does not have"
    for container in containers:
        name, own = tree.text(container, "name"), tree.mapping(container, "securityContext")
        if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
            yield f"container {name} has no runAsNonRoot: true"
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"container {name} has no allowPrivilegeEscalation: false"
        if "ALL" not in tree.words(own, "capabilities", "drop"):
            yield f"container {name} does not drop ALL capabilities"
        profile = tree.text(own, "seccompProfile", "type") or tree.text(pod, "seccompProfile", "type")
        if profile not in ("RuntimeDefault", "Localhost"):
            yield f"container {name} has no seccomp profile"
        added = set(tree.words(own, "capabilities", "add")) - {"NET_BIND_SERVICE"}
        if added:
            yield f"container {name} adds {', '.join(sorted(added))}"
