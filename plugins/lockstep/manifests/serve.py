"""What a group must have to serve: a port that is heard, probes and Services that ask where somebody answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding
from lockstep.manifests.command import LOOPBACK
from lockstep.quantity import amount
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.manifests.group import Group, Member
    from lockstep.rehearse.tree import Node

_LOADING: Final = 600  # seconds in which a large model has surely not loaded yet
_SHARED: Final = "/dev/shm"  # noqa: S108


def loopback(group: Group) -> Iterator[Finding]:
    """Refuse an engine that only its own pod can reach."""
    engine = group.engine
    host = engine.text("host", LOOPBACK.get(engine.name, "0.0.0.0"))  # noqa: S104
    if host in ("127.0.0.1", "localhost", "::1") and not group.leader.charted:
        told = "--host is" if engine.has("host") else f"without --host {engine.name} listens on"
        yield Finding(
            "NET004",
            group.workload.label,
            f"{told} {host}: neither probes nor a Service reach it",
            "Set --host 0.0.0.0.",
            {"--host": host},
        )


def services(group: Group, objects: list[Node]) -> Iterator[Finding]:
    """Require a Service to select only pods that serve the port it leads to."""
    port = group.engine.port
    for service in (item for item in objects if item.get("kind") == "Service"):
        if tree.text(service, "metadata", "namespace", default="default") != group.workload.namespace:
            continue
        name, headless_ = tree.text(service, "metadata", "name"), tree.text(service, "spec", "clusterIP") == "None"
        selector = tree.strings(service, "spec", "selector")
        chosen = [m for m in group.members if selector and selector.items() <= m.pods.labels.items()]
        if headless_:
            if (
                len(group.members) > 1
                and chosen
                and tree.mapping(service, "spec").get("publishNotReadyAddresses") is not True
            ):
                yield Finding(
                    "NET005",
                    group.workload.label,
                    f"Service {name} gives no names to pods that are not Ready, but the workers need the leader's name "
                    "before it can be Ready",
                    "Set publishNotReadyAddresses: true on it.",
                    {"Service": name},
                )
            continue
        silent = [m.pods.role for m in chosen if not group.takes(m)]
        if silent and _leads_to(service, chosen, port) and len(silent) < len(chosen):
            yield Finding(
                "NET003",
                group.workload.label,
                f"Service {name} also selects the {', '.join(silent)}, where nothing serves port {port}: a share of "
                "the requests fails",
                "Select the leader alone, by a label that only it has.",
                {"Service": name, "port": port},
            )


def probes(group: Group) -> Iterator[Finding]:
    """Refuse probes of ports that nobody serves, and warn of liveness that does not wait for the model."""
    port = group.engine.port
    for member in group.members:
        names = {tree.text(p, "name"): tree.text(p, "containerPort") for p in tree.items(member.container, "ports")}
        declared = {str(number) for number in names.values()} | ({port} if group.answers(member) else set())
        if member.engine is not None and not group.answers(member):
            declared -= {port}
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            for handler in ("httpGet", "tcpSocket"):
                asked = tree.text(member.container, kind, handler, "port")
                number = names.get(asked, asked)
                told = member.engine is not None and "$" not in port and not member.charted
                if number and told and number not in declared:
                    yield Finding(
                        "OPS004",
                        group.workload.label,
                        f"the {member.pods.role}'s {kind} asks port {number}, which nobody serves there"
                        + (f" (the engine serves {port})" if member.serves and number != port else ""),
                        f"Ask port {port}." if group.answers(member) else "Take it off: only the leader serves HTTP.",
                        {kind: number, "port": port},
                    )
        yield from _impatient(group, member)


def _impatient(group: Group, member: Member) -> Iterator[Finding]:
    probe = tree.mapping(member.container, "livenessProbe")
    if not probe or not member.engine or tree.mapping(member.container, "startupProbe"):
        return
    patience = tree.number(probe, "initialDelaySeconds", default=0) + tree.number(
        probe, "periodSeconds", default=10
    ) * tree.number(probe, "failureThreshold", default=3)
    if patience < _LOADING:
        yield Finding(
            "OPS013",
            group.workload.label,
            f"the {member.pods.role}'s livenessProbe kills the engine after {patience:g} s, and no startupProbe holds "
            "it back while the model loads",
            "Add a startupProbe that allows for the load.",
            {"seconds": patience},
        )


def shared_memory(group: Group) -> Iterator[Finding]:
    """Require room in /dev/shm where ranks share a pod, within the memory that it counts against."""
    bare = []
    for member in (each for each in group.members if each.pods.devices()[1] > 1):
        mounts = tree.items(member.container, "volumeMounts")
        name = next((tree.text(m, "name") for m in mounts if tree.text(m, "mountPath").rstrip("/") == _SHARED), None)
        if name is None and member.pods.spec.get("hostIPC") is not True:
            bare.append(member.pods.role)
        volume = next((v for v in tree.items(member.pods.spec, "volumes") if v.get("name") == name), {})
        size, limit = (
            tree.text(volume, "emptyDir", "sizeLimit"),
            tree.text(member.container, "resources", "limits", "memory"),
        )
        room, bound = amount(size), amount(limit)
        if room is not None and bound is not None and room >= bound:
            yield Finding(
                "OPS002",
                group.workload.label,
                f"the {member.pods.role}'s {_SHARED} may take {size}, but its memory limit is {limit} and {_SHARED} "
                "counts against it",
                "Lower sizeLimit or raise the limit.",
                {"sizeLimit": size, "memory": limit},
            )
    if bare:
        yield Finding(
            "OPS012",
            group.workload.label,
            f"{' and '.join(bare)}: several GPUs in a pod and no volume at {_SHARED}, where Kubernetes gives 64 MB",
            f"Mount an emptyDir of medium Memory at {_SHARED}.",
        )


def unread(group: Group) -> Iterator[Finding]:
    """Say what could not be told from the manifest."""
    gaps = group.engine.unread
    if not group.workload.gpus:
        gaps.append("the GPUs of its pods, which ask for none")
    if group.leader.version is None and not group.leader.charted:
        gaps.append(f"the engine's version, which image {group.leader.image or 'absent'} does not tell")
    if gaps:
        yield Finding(
            "ENG010",
            group.workload.label,
            f"{'; '.join(gaps)}: what depends on it was not checked",
            "Write it out where a check should see it.",
        )


def _leads_to(service: Node, chosen: list[Member], port: str) -> bool:
    """Say whether a Service leads to the engine's port."""
    for entry in tree.items(service, "spec", "ports"):
        target = tree.text(entry, "targetPort") or tree.text(entry, "port")
        names = {
            tree.text(p, "name"): tree.text(p, "containerPort")
            for m in chosen
            for p in tree.items(m.container, "ports")
        }
        if names.get(target, target) == port:
            return True
    return False
