"""What objects ask of a cluster's API: kinds in their versions, and controllers that are new enough."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.live.queues import KUEUE, label
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.live.cluster import Cluster
    from lockstep.rehearse.tree import Node

# Versions that README advises, by the name of the controller's image.
_ADVISED: Final = {"lws": (0, 9, 0), "kueue": (0, 18, 6)}
_IMAGE: Final = re.compile(r"(?:^|/)([a-z-]+):v(\d+)\.(\d+)\.(\d+)")


def kinds(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Require every kind of object to be served, in its version."""
    del namespace
    for version, kind in dict.fromkeys((tree.text(o, "apiVersion"), tree.text(o, "kind")) for o in objects):
        if kind != "CustomResourceDefinition" and not cluster.serves(version, kind):
            group = version.rpartition("/")[0]
            there = ", ".join(cluster.versions(group)) if group else ""
            yield Finding(
                "CLU001",
                kind,
                f"the cluster serves no {kind} of {version}" + (f"; of {group} it has {there}" if there else ""),
                f"Install what brings {group or 'it'}, in a version that has it.",
                {"apiVersion": version, "kind": kind},
            )


def controllers(objects: list[Node], namespace: str, cluster: Cluster) -> Iterator[Finding]:
    """Warn of controllers that are older than advised, as far as they run in the cluster."""
    del namespace
    groups = {tree.text(item, "apiVersion").partition("/")[0] for item in objects}
    used = {"lws": "leaderworkerset.x-k8s.io" in groups, "kueue": any(label(item, KUEUE) for item in objects)}
    if not any(used.values()):
        return
    for item in cluster.get("deployments.apps") or ():
        for container in tree.items(item, "spec", "template", "spec", "containers"):
            found = _IMAGE.search(tree.text(container, "image"))
            if found and used.get(found[1]):
                numbers, least = tuple(map(int, found.groups()[1:])), _ADVISED[found[1]]
                if numbers < least:
                    is_, advised = ".".join(map(str, numbers)), ".".join(map(str, least))
                    yield Finding(
                        "CLU002",
                        found[1],
                        f"the cluster runs {found[1]} {is_}; {advised} or newer is advised",
                        "Upgrade it.",
                        {found[1]: is_},
                    )
