"""What a cluster has, asked for when it is needed and once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.live.kubectl import Kubectl, RefusedError
from lockstep.quantity import amount
from lockstep.rehearse import tree
from lockstep.yamlfile import parse

if TYPE_CHECKING:
    from lockstep.rehearse.tree import Node

_BLOCKING: Final = ("NoSchedule", "NoExecute")


@dataclass
class Cluster:
    """A cluster.

    Parameters
    ----------
    kubectl : Kubectl
        The way to it.
    refused : dict of str to str
        Kinds that could not be read, with the reason.
    """

    kubectl: Kubectl
    refused: dict[str, str] = field(default_factory=dict)
    _seen: dict[tuple[str, str | None], list[Node]] = field(default_factory=dict)
    _apis: tuple[set[str], set[tuple[str, str]]] | None = None

    def serves(self, version: str, kind: str) -> bool:
        """Say whether the API server knows a kind in a version."""
        versions, kinds = self._served()
        return version in versions and (version.rpartition("/")[0], kind) in kinds

    def versions(self, group: str) -> list[str]:
        """List the versions that it has of a group."""
        return sorted(each for each in self._served()[0] if each.rpartition("/")[0] == group)

    def get(self, kind: str, namespace: str | None = None) -> list[Node] | None:
        """Give the objects of a kind; None if they may not be read or there is no such kind."""
        key = kind, namespace
        if kind in self.refused:
            return None
        if key not in self._seen:
            try:
                self._seen[key] = self.kubectl.get(kind, namespace)
            except RefusedError as error:
                self.refused[kind] = str(error)
                return None
        return self._seen[key]

    def named(self, kind: str, namespace: str | None = None) -> dict[str, Node] | None:
        """Give the objects of a kind by name."""
        found = self.get(kind, namespace)
        return None if found is None else {tree.text(item, "metadata", "name"): item for item in found}

    def kueue_patience(self) -> str | None:
        """Give how long Kueue waits until all pods of a group are Ready; None if its configuration does not say."""
        for item in self.get("configmaps", "kueue-system") or ():
            for text in tree.strings(item, "data").values():
                try:
                    waiting = tree.mapping(parse(text), "waitForPodsReady")
                except ValuesError:
                    continue
                if waiting:
                    return tree.text(waiting, "timeout") or None
        return None

    def _served(self) -> tuple[set[str], set[tuple[str, str]]]:
        if self._apis is None:
            versions = {row[0] for row in self.kubectl.table("api-versions")}
            rows = [row for row in self.kubectl.table("api-resources") if len(row) > 3]
            self._apis = versions, {(row[-3].rpartition("/")[0], row[-1]) for row in rows}
        return self._apis


def offers(node: Node, resource: str) -> int:
    """Give how many of a resource a node has for pods."""
    number = amount(tree.text(node, "status", "allocatable", resource))
    return int(number) if number is not None else 0


def lacks(node: Node, spec: Node) -> str:
    """Give the label that a pod asks for and a node has not; empty if it has all."""
    labels = tree.strings(node, "metadata", "labels")
    wanted = tree.strings(spec, "nodeSelector").items()
    return next((f"{key}={value}" for key, value in wanted if labels.get(key) != value), "")


def repels(node: Node, spec: Node) -> str:
    """Give the taint of a node that a pod does not tolerate; empty if it tolerates all."""
    if tree.mapping(node, "spec").get("unschedulable") is True:
        return "cordoned"
    for taint in tree.items(node, "spec", "taints"):
        blocking = taint.get("effect") in _BLOCKING
        if blocking and not any(_tolerates(each, taint) for each in tree.items(spec, "tolerations")):
            return f"{tree.text(taint, 'key')}={tree.text(taint, 'value')}:{tree.text(taint, 'effect')}"
    return ""


def _tolerates(toleration: Node, taint: Node) -> bool:
    key, effect = tree.text(toleration, "key"), tree.text(toleration, "effect")
    exists = toleration.get("operator") == "Exists"
    same = exists or tree.text(toleration, "value") == tree.text(taint, "value")
    return ((key == tree.text(taint, "key") and same) or (not key and exists)) and effect in ("", taint.get("effect"))
