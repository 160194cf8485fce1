"""The supervisor: times and settings with which it can keep a group whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_ON_LOSS: Final = "stack.lws.onPodLoss"


def heartbeats(release: Release) -> Iterator[Finding]:
    """Require two heartbeats to fit into the deadline."""
    supervisor = release.supervisor
    if supervisor.enabled and 2 * supervisor.heartbeat > supervisor.deadline:
        yield Finding(
            "OPS006",
            "supervisor.deadlineSeconds",
            f"supervisor.deadlineSeconds is {supervisor.deadline}, but heartbeatSeconds is {supervisor.heartbeat}: "
            "within a deadline two heartbeats must fit, or one late packet stops the group",
            f"Set supervisor.deadlineSeconds: {2 * supervisor.heartbeat} or more.",
            {
                "supervisor.deadlineSeconds": supervisor.deadline,
                "supervisor.heartbeatSeconds": supervisor.heartbeat,
            },
        )


def replaced_pods(release: Release) -> Iterator[Finding]:
    """Refuse to replace a single pod when nothing joins it to its group again."""
    path = _replaces_a_pod(release)
    if path and release.group.nodes > 1 and not release.supervisor.enabled:
        chosen = "replace" if path == _ON_LOSS else release.stack.name
        yield Finding(
            "STK008",
            path,
            f"{path} is {chosen}, but supervisor.enabled is false: nothing would join a replaced pod to its group "
            "again",
            "Set supervisor.enabled: true" + (", or onPodLoss: recreate." if path == _ON_LOSS else "."),
            {path: chosen, "supervisor.enabled": False},
        )


def sidecars(release: Release) -> Iterator[Finding]:
    """Warn of containers whose restart recreates the group."""
    if release.stack.name != "lws" or _replaces_a_pod(release):
        return
    for path in dict.fromkeys(pod.path("sidecars", name) for pod in release.pods for name in pod.entries("sidecars")):
        yield Finding(
            "STK017",
            path,
            f"{path}: when this container restarts, LeaderWorkerSet recreates the whole group",
            "Give it room (memory) and no liveness probe, or set stack.lws.onPodLoss: replace.",
        )


def _replaces_a_pod(release: Release) -> str:
    """Give the key by which a lost pod is replaced alone; empty when its whole group is."""
    if release.stack.name == "lws":
        return _ON_LOSS if table(release.stack.blocks, "lws").get("onPodLoss") == "replace" else ""
    return "stack.name" if release.stack.name in ("kueue", "grove") else ""
