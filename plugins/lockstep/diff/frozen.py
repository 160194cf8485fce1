"""Parts of the objects of queues that no upgrade can change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.yamlfile import Values

# By group and kind. Rules "self == oldSelf" of the definitions of Kueue v0.17.0 (config/components/crd/bases; of a
# flavor they hold with a topology, which every flavor of charts/queues has) and KAI v0.15.2 (kai.scheduler_topologies).
_FROZEN: Final = {
    ("kai.scheduler", "Topology"): ("levels",),
    ("kueue.x-k8s.io", "Topology"): ("levels",),
    ("kueue.x-k8s.io", "ResourceFlavor"): ("nodeLabels", "tolerations", "topologyName"),
    ("kueue.x-k8s.io", "LocalQueue"): ("clusterQueue",),
}
# pkg/controller/tas/topology_controller.go, pkg/controller/core/resourceflavor_controller.go: a finalizer.
_KEPT: Final = {
    ("kueue.x-k8s.io", "Topology"): "; Kueue keeps it until no ResourceFlavor names it",
    ("kueue.x-k8s.io", "ResourceFlavor"): "; Kueue keeps it until no ClusterQueue names it",
}


def refused(name: str, old: Values, new: Values) -> Iterator[str]:
    """Say which change of an object its cluster will refuse.

    Parameters
    ----------
    name : str
        What to call it.
    old, new : Values
        The object before and after.

    Yields
    ------
    str
        Two sentences if there is such a change.
    """
    key = (str(new.get("apiVersion")).partition("/")[0], str(new.get("kind")))
    was, now = table(old, "spec"), table(new, "spec")
    if parts := [f"spec.{part}" for part in _FROZEN.get(key, ()) if was.get(part) != now.get(part)]:
        yield (
            f"{name}: {' and '.join(parts)} cannot change in an object that exists, so the cluster refuses the change. "
            f"Delete the object first{_KEPT.get(key, '')}."
        )
