"""The supervisor: times and settings with which it can keep a group whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.findings import Finding
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release


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
    replaces = table(release.stack.blocks, "lws").get("onPodLoss") == "replace"
    if release.stack.name == "lws" and replaces and release.group.nodes > 1 and not release.supervisor.enabled:
        yield Finding(
            "STK008",
            "stack.lws.onPodLoss",
            "stack.lws.onPodLoss is replace, but supervisor.enabled is false: nothing would join the new pod to its "
            "group again",
            "Set onPodLoss: recreate, or supervisor.enabled: true.",
            {"stack.lws.onPodLoss": "replace", "supervisor.enabled": False},
        )
