"""The pod as Kubernetes gets it: the containers beside the engine, and the volumes that are mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.release import given_entries, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Pod, Release
    from lockstep.yamlfile import Value

_CONTAINERS: Final = ("initContainers", "sidecars")


def names(release: Release) -> Iterator[Finding]:
    """Refuse one name for a sidecar and an init container; the schema refuses the engine's."""
    found = [
        pod.path("sidecars", name)
        for pod in release.pods
        for name in pod.entries("sidecars")
        if name in pod.entries("initContainers")
    ]
    for path in dict.fromkeys(found):
        yield Finding(
            "OPS007",
            path,
            f"{path} has the name of an init container, but the names of a pod's containers are all different",
            "Rename one of them.",
        )


def gpus(release: Release) -> Iterator[Finding]:
    """Refuse GPUs for a container beside the engine: the layout counts on all of them."""
    resource = release.group.resource
    asked: dict[str, Value] = {}
    for pod in release.pods:
        for field in _CONTAINERS:
            for name in pod.entries(field):
                resources = table(table(pod.entries(field), name), "resources")
                for kind in ("limits", "requests"):
                    asked[f"{pod.path(field, name)}.resources.{kind}"] = table(resources, kind).get(resource)
    for path, count in asked.items():
        if count not in (None, "", 0, "0"):
            yield Finding(
                "OPS001",
                path,
                f"{path} asks for {count} {resource}, but the GPUs of a node belong to its engine",
                "Remove it, and run what needs GPUs before the engine in hooks.preLaunch.",
                {f"{path}.{resource}": count},
            )


def sources(release: Release) -> Iterator[Finding]:
    """Refuse a volume with several sources."""
    found = {
        pod.path("volumes", name): sorted(given_entries(pod.entries("volumes"), name))
        for pod in release.pods
        for name in pod.entries("volumes")
    }
    for path, given in found.items():
        if len(given) > 1:
            yield Finding(
                "OPS008",
                path,
                f"{path} has {len(given)} sources ({', '.join(given)}), but a volume has one",
                "Set the others to null.",
            )


def mounts(release: Release) -> Iterator[Finding]:
    """Refuse the mount of a volume that the pod does not have."""
    found = [
        (path, volume)
        for pod in release.pods
        for path, volume in _mounted(pod)
        if volume not in release.volumes and volume not in pod.entries("volumes")
    ]
    for path, volume in dict.fromkeys(found):
        yield Finding(
            "OPS008",
            path,
            f"{path} mounts the volume {volume}, but neither the chart nor pod.volumes has it",
            "Add it to pod.volumes.",
        )


def _mounted(pod: Pod) -> Iterator[tuple[str, str]]:
    """Give the values path and the volume's name of each mount of all containers."""
    for path in pod.entries("volumeMounts"):
        yield pod.path("volumeMounts", path), str(table(pod.entries("volumeMounts"), path).get("name"))
    for field in _CONTAINERS:
        for name in pod.entries(field):
            listed = table(pod.entries(field), name).get("volumeMounts")
            for mount in listed if isinstance(listed, list) else ():
                if isinstance(mount, dict):
                    yield f"{pod.path(field, name)}.volumeMounts", str(mount.get("name"))
