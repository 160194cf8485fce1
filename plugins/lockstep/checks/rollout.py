"""Rollout arithmetic: an upgrade must be able to begin and to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release, Rollout, Table
    from lockstep.yamlfile import Value

_SCALED: Final = ("lws", "deployment")
# What each autoscaler reads that the other does not; the first it must have.
_AUTOSCALERS: Final = {"hpa": ("metrics",), "keda": ("triggers", "pollingInterval", "cooldownPeriod", "fallback")}


def no_progress(release: Release) -> Iterator[Finding]:
    """Refuse a rollout that may neither remove a group nor add one."""
    rollout = release.rollout
    if rollout.replicas > 0 and rollout.unavailable + rollout.surge == 0:
        yield Finding(
            "STK003",
            "rollout",
            f"rollout: with replicas {rollout.replicas}, maxUnavailable {rollout.max_unavailable} and maxSurge "
            f"{rollout.max_surge} both come to 0 groups, so no upgrade can begin",
            "Set rollout.maxUnavailable: 1.",
            _seen(rollout),
        )


def surge_of_one(release: Release) -> Iterator[Finding]:
    """Refuse a surge as large as the release on LeaderWorkerSet: it drops the surge group and waits for ever."""
    rollout = release.rollout
    if (
        release.stack.name == "lws"
        and rollout.replicas > 0
        and rollout.unavailable == 0
        and 0 < rollout.replicas <= rollout.surge
    ):
        yield Finding(
            "STK004",
            "rollout",
            f"rollout: with replicas {rollout.replicas}, maxUnavailable {rollout.max_unavailable} and maxSurge "
            f"{rollout.max_surge} LeaderWorkerSet never replaces the old group (seen with 0.8)",
            "Set rollout.maxUnavailable: 1, or replicas above maxSurge.",
            _seen(rollout),
        )


def autoscaling(release: Release) -> Iterator[Finding]:
    """Refuse an autoscaler that has nothing to scale or no room to, or that is told what only the other one reads."""
    scaling, rollout = release.autoscaling, release.rollout
    if not scaling:
        return
    if release.stack.name not in _SCALED:
        yield Finding(
            "STK016",
            "autoscaling",
            f"autoscaling is set, but on stack {release.stack.name} there is no object whose replicas are groups to "
            "scale",
            "Set replicas, or stack.name: lws.",
            {"stack.name": release.stack.name},
        )
    elif rollout.replicas > rollout.most:
        yield Finding(
            "STK016",
            "autoscaling",
            f"autoscaling.minReplicas is {rollout.replicas}, but maxReplicas is {rollout.most}",
            "Raise autoscaling.maxReplicas.",
            {"autoscaling.minReplicas": rollout.replicas, "autoscaling.maxReplicas": rollout.most},
        )
    yield from _words(scaling, str(scaling.get("manager") or "hpa"))


def _words(scaling: Table, manager: str) -> Iterator[Finding]:
    """Hold the settings against the autoscaler that reads them."""
    seen: dict[str, Value] = {"autoscaling.manager": manager}
    for other in _AUTOSCALERS.keys() - {manager}:
        for key in _AUTOSCALERS[other]:
            if scaling.get(key):
                path = f"autoscaling.{key}"
                message = f"{path} is set, but autoscaling.manager is {manager}, which does not read it"
                yield Finding("STK016", path, message, "Remove it, or change autoscaling.manager.", seen)
    needed = f"autoscaling.{_AUTOSCALERS[manager][0]}"
    if not scaling.get(_AUTOSCALERS[manager][0]):
        message = f"autoscaling.manager is {manager}, but {needed} is not set, by which it scales"
        yield Finding("STK016", needed, message, "Set it.", seen)
    if manager == "hpa" and not scaling["minReplicas"]:
        path = "autoscaling.minReplicas"
        message = f"{path} is 0, but a HorizontalPodAutoscaler leaves 1 at least"
        yield Finding("STK016", path, message, "Set 1, or autoscaling.manager: keda.", seen)


def downtime(release: Release) -> Iterator[Finding]:
    """Warn that one group cannot be replaced without a gap."""
    rollout = release.rollout
    if rollout.replicas == 1 and rollout.surge == 0:
        yield Finding(
            "OPS011",
            "replicas",
            "one replica: an upgrade means downtime of a model load",
            "A second replica avoids it, or (on stack deployment) rollout.maxSurge: 1 with spare nodes.",
            _seen(rollout),
        )


def all_held_back(release: Release) -> Iterator[Finding]:
    """Warn of a partition that keeps every group from an upgrade."""
    rollout = release.rollout
    if release.stack.name == "lws" and 0 < rollout.most <= rollout.partition:
        yield Finding(
            "OPS014",
            "rollout.partition",
            f"rollout.partition is {rollout.partition} and the groups are numbered 0 to {rollout.most - 1}: an upgrade "
            "replaces none of them",
            "Set rollout.partition: 0, or the number of the first group to replace.",
            _seen(rollout),
        )


def no_eviction(release: Release) -> Iterator[Finding]:
    """Warn of a budget that lets no pod go."""
    if release.evictable in ("0", "0%"):
        path = "disruption.maxUnavailable"
        yield Finding(
            "OPS015",
            path,
            f"{path} is {release.evictable}: no node that holds one of the pods can ever be drained",
            f"Set {path}: 1, which is one group.",
            {path: release.evictable},
        )


def _seen(rollout: Rollout) -> dict[str, int | str]:
    return {
        "replicas": rollout.replicas,
        "rollout.maxUnavailable": rollout.max_unavailable,
        "rollout.maxSurge": rollout.max_surge,
    }
