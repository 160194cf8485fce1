"""The pod: one number of GPUs, memory for /dev/shm, paths and probes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.quantity import amount
from lockstep.release import table, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_DEFAULT: Final = 64 * 2**20  # bytes of /dev/shm that any container has
_PERIOD: Final = 10  # seconds between two startup probes of the chart
_HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
_REPLACEABLE: Final = ("tmp", "home", "cache")


def gpu_requests(release: Release) -> Iterator[Finding]:
    """Refuse a number of GPUs in the resources that is not ``group.gpusPerNode``."""
    group = release.group
    for path, resources in release.resources.items():
        for kind in ("limits", "requests"):
            asked = table(resources, kind).get(group.resource)
            if isinstance(asked, (int, float, str)) and amount(asked) != group.gpus_per_node:
                yield Finding(
                    "OPS001",
                    f"{path}.{kind}",
                    f"{path}.{kind} asks for {asked} {group.resource}, but group.gpusPerNode is {group.gpus_per_node}",
                    f"Remove it from {path}; it follows from group.gpusPerNode.",
                    {f"{path}.{kind}.{group.resource}": asked, "group.gpusPerNode": group.gpus_per_node},
                )


def shared_memory(release: Release) -> Iterator[Finding]:
    """Require /dev/shm to hold what ranks share, and to be smaller than the memory limit it counts against."""
    size = amount(release.shared_memory)
    ranks = release.group.gpus_per_node
    if size is not None and size <= _DEFAULT and ranks > 1:
        yield Finding(
            "OPS017",
            "sharedMemory.size",
            f"sharedMemory.size is {release.shared_memory}, no more than the 64Mi that any container has, and the "
            f"{ranks} ranks of a pod share it: NCCL and torch cannot create their segments",
            "Set some GiB.",
            {"sharedMemory.size": release.shared_memory, "group.gpusPerNode": ranks},
        )
    for path, resources in release.resources.items():
        limit = table(resources, "limits").get("memory")
        bound = amount(limit) if isinstance(limit, (int, float, str)) else None
        if size is not None and bound is not None and size >= bound:
            yield Finding(
                "OPS002",
                "sharedMemory.size",
                f"sharedMemory.size is {release.shared_memory}, but {path}.limits.memory is {limit} and /dev/shm "
                "counts against it",
                "Lower sharedMemory.size or raise the limit.",
                {"sharedMemory.size": release.shared_memory, f"{path}.limits.memory": limit},
            )


def mounts(release: Release) -> Iterator[Finding]:
    """Refuse mount paths and volume names of the chart."""
    owned = release.owned
    for section in release.sections:
        for path in section.volume_mounts:
            volume = owned.mounts.get(path)
            if volume is not None:
                instead = f", or replace the volume with {section.name}.volumes.{volume}"
                yield Finding(
                    "OPS003",
                    f"{section.name}.volumeMounts.{path}",
                    f"{section.name}.volumeMounts.{path}: the chart mounts its volume {volume} there",
                    f"Choose another path{instead if volume in _REPLACEABLE else ''}.",
                )
        for name in section.volumes:
            if name in owned.volumes:
                yield Finding(
                    "OPS003",
                    f"{section.name}.volumes.{name}",
                    f"{section.name}.volumes.{name} is the name of a volume of the chart",
                    f"Choose another name; {owned.volumes[name]}.",
                )


def probes(release: Release) -> Iterator[Finding]:
    """Refuse a probe with two handlers, and probes of the engine's port where only the leader serves."""
    port = release.owned.ports["http"]
    for section in release.sections:
        for kind in section.probes:
            probe = table(section.probes, kind)
            path = f"{section.name}.probes.{kind}"
            handlers = [handler for handler in _HANDLERS if probe.get(handler)]
            if len(handlers) > 1:
                yield Finding(
                    "OPS004",
                    path,
                    f"{path} has {len(handlers)} handlers ({', '.join(handlers)}), but a probe has one",
                    "Set the others to null.",
                )
            ports = {f"{path}.{handler}.port": table(probe, handler).get("port") for handler in _HANDLERS}
            asked = {key: given for key, given in ports.items() if given in ("http", port, str(port))}
            only_leader = release.group.nodes > 1 and not release.layout.every_pod_serves
            if section.name != "leader" and only_leader and asked:
                yield Finding(
                    "OPS004",
                    path,
                    f"{path} asks the engine's port {next(iter(asked.values()))} on the worker role, but only the "
                    "leader serves HTTP",
                    f"Move it to leader.probes.{kind}.",
                    asked,
                )


def startup_budget(release: Release) -> Iterator[Finding]:
    """Warn of a startup probe that gives up before the start may have ended."""
    for pod in release.pods:
        probe = table(table(pod.values, "probes"), "startup")
        if not probe.get("failureThreshold"):
            continue
        tries, period = whole(probe["failureThreshold"]), whole(probe.get("periodSeconds") or _PERIOD)
        budget = tries * period + whole(probe.get("initialDelaySeconds") or 0)
        if budget < release.startup:
            path = pod.path("probes", "startup")
            yield Finding(
                "OPS016",
                path,
                f"{path} gives the {pod.role} {tries} x {period} s = {budget} s, but startup.seconds is "
                f"{release.startup}: kubelet ends it in the middle of a start",
                f"Remove {path}.failureThreshold, which is derived from startup.seconds, or lower that.",
                {f"{path}.failureThreshold": tries, "startup.seconds": release.startup},
            )
