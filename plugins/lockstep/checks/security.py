"""Rights that take more than the Pod Security level ``restricted``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

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
