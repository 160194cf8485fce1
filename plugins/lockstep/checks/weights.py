"""Weights: what each source needs, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_NEEDS: Final = {"hub": (), "pvc": ("claim",), "hostPath": ("path",)}
_TAKES: Final = {"hub": ("tokenSecret",), "pvc": ("claim", "path"), "hostPath": ("path",)}


def settings(release: Release) -> Iterator[Finding]:
    """Require the keys of the chosen source, and no others."""
    source, given = release.weights.source, release.weights.settings
    for key in _NEEDS[source]:
        if not given.get(key):
            yield Finding(
                "OPS005",
                f"weights.{key}",
                f"weights.source is {source}, but weights.{key} is not set",
                "Set it.",
                {"weights.source": source},
            )
    for key, value in given.items():
        if value and key not in _TAKES[source]:
            yield Finding(
                "OPS005",
                f"weights.{key}",
                f"weights.{key} is set, but has no meaning with weights.source {source}",
                "Remove it or change the source.",
                {"weights.source": source},
            )
    path = given.get("path")
    if source == "hostPath" and isinstance(path, str) and not path.startswith("/"):
        yield Finding(
            "OPS005",
            "weights.path",
            f"weights.path is {path}, but on a node it must be absolute",
            "Begin it with /.",
            {"weights.path": path},
        )
    if isinstance(path, str) and ".." in path.split("/"):
        yield Finding(
            "OPS005",
            "weights.path",
            f"weights.path is {path}, but a path with .. is refused by Kubernetes, or leads out of the claim",
            "Write it without .. in it.",
            {"weights.path": path},
        )


def download(release: Release) -> Iterator[Finding]:
    """Warn when every new pod would fetch the whole model."""
    keeps_cache = any(section.volumes.get("cache") for section in release.sections if section.name == "pod")
    if release.weights.source == "hub" and not keeps_cache:
        yield Finding(
            "OPS010",
            "weights.source",
            "every new pod downloads the whole model from the hub",
            "Use weights.source pvc or hostPath, or keep the cache with pod.volumes.cache.",
            {"weights.source": "hub", "model.id": release.model.id},
        )
