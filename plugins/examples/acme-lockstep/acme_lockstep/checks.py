"""Checks of our own: each a generator over one release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

LABEL: Final = "acme.example.com/cost-centre"


def cost_centre(release: Release) -> Iterator[Finding]:
    """Refuse a release whose GPUs nobody pays for."""
    for section in release.sections:
        if section.name == "pod" and LABEL not in section.labels:
            yield Finding(
                "ACME001",
                "pod.labels",
                f"no {LABEL} on the pods of {release.name}, which take {release.group.gpus} GPUs a replica",
                f"Set pod.labels.{LABEL}.",
                {"group.nodes": release.group.nodes, "group.gpusPerNode": release.group.gpus_per_node},
            )
