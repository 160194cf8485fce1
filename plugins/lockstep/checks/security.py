"""Rights that take more than the Pod Security level ``restricted``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_LABEL: Final = "Label its namespace pod-security.kubernetes.io/enforce: privileged."


def memory_lock(release: Release) -> Iterator[Finding]:
    """Warn that RDMA pins memory, for which the container adds a capability."""
    if release.network.rdma or "IPC_LOCK" in release.capabilities:
        yield Finding(
            "SEC001",
            "network.rdma" if release.network.rdma else "security.container.capabilities",
            "the engine container adds IPC_LOCK, so its namespace needs the Pod Security level privileged",
            _LABEL,
        )


def host_path(release: Release) -> Iterator[Finding]:
    """Warn that host paths are not allowed below ``privileged``."""
    if release.weights.source == "hostPath":
        yield Finding(
            "SEC002",
            "weights.source",
            "weights on a host path, so the namespace needs the Pod Security level privileged",
            _LABEL,
        )


def node_rights(release: Release) -> Iterator[Finding]:
    """Warn of all else that belongs to the node: the level ``baseline`` already refuses it."""
    taken = {}
    if release.network.of_node:
        taken["network.hostNetwork"] = "the pods use the network of their node, where no NetworkPolicy holds them"
    if release.privileged:
        taken["security.container.privileged"] = "the engine container has all rights on its node"
    for section in release.sections:
        for name in section.volumes:
            if table(section.volumes, name).get("hostPath") is not None:
                taken[f"{section.name}.volumes.{name}"] = f"volume {name} is a path of the node"
    for path, what in taken.items():
        yield Finding("SEC003", path, f"{what}, so the namespace needs the Pod Security level privileged", _LABEL)
