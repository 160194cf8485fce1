"""The environment of a container, made as kubelet makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree
from lockstep.rehearse.expand import expand
from lockstep.rehearse.secrets import configured, secret_value

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.tree import Node


def container_environment(pod: Pod, container: Node, group: Group, address: str) -> dict[str, str]:
    """Resolve ``envFrom`` and ``env``, in order: a ``$(NAME)`` sees only what stands before it.

    Parameters
    ----------
    pod : Pod
        Whose fields a fieldRef names.
    container : Node
        The container.
    group : Group
        Where rendered ConfigMaps and Secrets are.
    address : str
        The pod's IP.

    Returns
    -------
    dict of str
        Name to value.

    Raises
    ------
    LockstepError
        For a reference that kubelet would not resolve either.
    """
    found: dict[str, str] = {}
    for source in tree.items(container, "envFrom"):
        prefix = tree.text(source, "prefix")
        for kind, reference in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if reference in source:
                data = configured(group, kind, tree.text(source, reference, "name"))
                found |= {prefix + key: value for key, value in data.items()}
    for entry in tree.items(container, "env"):
        name = tree.text(entry, "name")
        if "valueFrom" in entry:
            value = _from(pod, container, group, address, name, tree.mapping(entry, "valueFrom"))
            if value is not None:
                found[name] = value
        else:
            found[name] = expand(tree.text(entry, "value"), found)
    return found


def command_line(container: Node, environment: dict[str, str]) -> list[str]:
    """Return command and args with their references expanded.

    Raises
    ------
    LockstepError
        When there is no command: that of an image is not known here.
    """
    if not container.get("command"):
        raise LockstepError(
            f"container {tree.text(container, 'name')} has no command; its image's own is not known here"
        )
    return [expand(word, environment) for word in tree.words(container, "command") + tree.words(container, "args")]


def _from(pod: Pod, container: Node, group: Group, address: str, name: str, source: Node) -> str | None:
    if "fieldRef" in source:
        return _field(pod, address, tree.text(source, "fieldRef", "fieldPath"), name)
    if "resourceFieldRef" in source:
        kind, _, resource = tree.text(source, "resourceFieldRef", "resource").partition(".")
        return tree.text(container, "resources", kind, resource, default="0")
    for kind, reference in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if reference in source:
            at = tree.mapping(source, reference)
            return secret_value(
                group, kind, tree.text(at, "name"), tree.text(at, "key"), optional=bool(at.get("optional"))
            )
    raise LockstepError(f"env {name}: {', '.join(source)} is not known to a rehearsal")


def _field(pod: Pod, address: str, path: str, name: str) -> str:
    simple = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": f"rehearsal-node-{pod.rank}",
        "spec.serviceAccountName": tree.text(pod.spec, "serviceAccountName", default="default"),
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": address,
        "status.hostIPs": address,
    }
    if path in simple:
        return simple[path]
    for head, values in (("metadata.labels['", pod.labels), ("metadata.annotations['", pod.annotations)):
        if path.startswith(head) and path.endswith("']"):
            return values.get(path[len(head) : -2], "")
    raise LockstepError(f"env {name}: kubelet knows no field {path}")
