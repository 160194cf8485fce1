"""Who admits the groups, and in which part of the network they must lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.release import MANAGERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

# Managers that place pods with a scheduler of their own.
_SCHEDULERS: Final = {"kai": "kai-scheduler", "volcano": "volcano"}


def manager(release: Release) -> Iterator[Finding]:
    """Refuse a manager that the stack does not have."""
    managers = MANAGERS[release.stack.name]
    if release.manager not in managers:
        yield Finding(
            "STK009",
            "queue.manager",
            f"queue.manager is {release.manager}, but stack {release.stack.name} has {', '.join(managers)}",
            "Remove it, or set stack.name: lws.",
            {"queue.manager": release.manager, "stack.name": release.stack.name},
        )


def unread(release: Release) -> Iterator[Finding]:
    """Refuse settings of a queue that nobody reads."""
    queue = release.queue
    for key, value in (("name", queue.name), ("priorityClass", queue.priority_class)):
        if value and release.manager == "none":
            yield Finding(
                "STK009",
                f"queue.{key}",
                f"queue.{key} is set, but there is no queue.manager that reads it",
                "Set queue.manager, or remove it.",
                {f"queue.{key}": value},
            )
    if queue.priority_class and release.manager == "volcano":
        yield Finding(
            "STK009",
            "queue.priorityClass",
            "queue.priorityClass is set, but LeaderWorkerSet hands no priority to Volcano",
            "Set pod.priorityClassName.",
            {"queue.priorityClass": queue.priority_class},
        )


def scheduler(release: Release) -> Iterator[Finding]:
    """Refuse a scheduler that is not the manager's: pods that another one places are in no gang."""
    theirs = _SCHEDULERS.get(release.manager)
    for section in release.sections:
        if theirs and section.scheduler and section.scheduler != theirs and _fits(release):
            yield Finding(
                "STK014",
                f"{section.name}.schedulerName",
                f"{section.name}.schedulerName is {section.scheduler}, but queue.manager {release.manager} places pods "
                f"with {theirs}",
                "Remove it.",
                {f"{section.name}.schedulerName": section.scheduler},
            )


def surge_in_percent(release: Release) -> Iterator[Finding]:
    """Refuse a percentage of surge under Kueue, which makes no Workload for these groups."""
    surge = release.rollout.max_surge
    if release.stack.name == "lws" and release.manager == "kueue" and surge.endswith("%"):
        yield Finding(
            "STK010",
            "rollout.maxSurge",
            f"rollout.maxSurge is {surge}, but Kueue reads a percentage as 0 and lets the extra groups wait for ever",
            "Give a number of groups.",
            {"rollout.maxSurge": surge},
        )


def topology(release: Release) -> Iterator[Finding]:
    """Refuse a topology that nobody reads, or that never fits."""
    asked, nodes = release.topology, release.group.nodes
    if not asked or not _fits(release):
        return
    if nodes == 1:
        reason, fix = "group.nodes is 1: a group on one node is in one place anyway", "Remove it."
    elif release.manager == "volcano":
        reason = (
            "with queue.manager volcano nobody reads it: Volcano waits for all pods of a group, and LeaderWorkerSet "
            "makes the workers only when the leader has its place"
        )
        fix = "Set queue.manager: kueue or kai."
    else:
        return
    yield Finding("STK011", "topology", f"topology is {asked}, but {reason}", fix, {"topology": asked})


def _fits(release: Release) -> bool:
    return release.manager in MANAGERS[release.stack.name]
