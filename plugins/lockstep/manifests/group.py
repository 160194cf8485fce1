"""A group as its manifests start it: each template's engine, and what nobody but a running shell could tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockstep.manifests import command, contract, script
from lockstep.manifests.command import Engine, Ray
from lockstep.rehearse import tree
from lockstep.rehearse.expand import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockstep.manifests.workloads import Pods, Workload
    from lockstep.rehearse.tree import Node

_LABEL: Final = re.compile(r"metadata\.labels\['([^']+)'\]")
_VERSION: Final = re.compile(r"(?:^|[^0-9.])v?(\d+\.\d+\.\d+)")
_OWN: Final = {"vllm": "vllm-openai", "sglang": "sglang", "trtllm": "tensorrt-llm/release"}


@dataclass(frozen=True)
class Member:
    """What the pods of one template start.

    Parameters
    ----------
    pods : Pods
        The pods.
    container : Node
        The container that starts it, or the one with accelerators where none was found.
    engine : Engine or None
        The engine.
    ray : Ray or None
        The node of a Ray cluster.
    env : mapping of str to str
        Variables of the container whose values are known.
    """

    pods: Pods
    container: Node
    engine: Engine | None
    ray: Ray | None
    env: Mapping[str, str]

    @property
    def image(self) -> str:
        """Image of the container."""
        return tree.text(self.container, "image")

    @property
    def charted(self) -> bool:
        """Whether the serving chart rendered it: what its scripts take care of needs no looking at."""
        return contract.MARK in self.env

    @property
    def own(self) -> bool:
        """Whether it is the engine's own image."""
        return self.engine is not None and command.repository(self.image).endswith(_OWN[self.engine.name])

    @property
    def version(self) -> str | None:
        """The engine's version by the tag of its own image; None if that does not tell."""
        found = _VERSION.search(command.tag(self.image)) if self.own else None
        return found[1] if found else None

    @property
    def serves(self) -> bool:
        """Whether it opens the engine's port: a rank that is not the first of vLLM does not."""
        return self.engine is not None and not self.engine.has("headless")


@dataclass(frozen=True)
class Group:
    """One group: the object, what its pods start, and which of them starts the engine."""

    workload: Workload
    members: tuple[Member, ...]
    leader: Member

    @property
    def engine(self) -> Engine:
        """The engine that the leader starts."""
        return self.leader.engine or Engine("vllm")

    @property
    def workers(self) -> list[Member]:
        """The members beside the leader that have accelerators."""
        return [each for each in self.members if each is not self.leader and each.pods.devices()[1]]

    def takes(self, member: Member) -> bool:
        """Say whether a member takes requests."""
        every = self.engine.has("hybrid") or self.engine.has("external")
        return member is self.leader or (member.serves and every)

    def answers(self, member: Member) -> bool:
        """Say whether a member answers probes: SGLang's other ranks do, and take no requests."""
        return self.takes(member) or (member.serves and self.engine.name == "sglang")

    @property
    def ray(self) -> bool:
        """Whether Ray joins the pods."""
        ours = self.engine.text("executor") == "ray" or any(each.ray for each in self.members)
        return ours or self.workload.kind.startswith("Ray")


def look(workload: Workload, objects: list[Node]) -> Group | None:
    """Find what a workload starts; None if none of its pods starts an engine that is known."""
    operated = workload.kind.startswith("Ray")  # KubeRay itself starts a Ray node in every pod
    members = tuple(_member(pods, objects, operated=operated) for pods in workload.pods)
    if workload.settings:
        members = (_serving(members, command.served(workload.settings)), *members[1:])
    leader = next((each for each in members if each.serves), None) or next((m for m in members if m.engine), None)
    if leader is None:
        return None
    group = Group(workload, members, leader)
    return group if _together(group) else Group(workload.alone(), (leader,), leader)


def _together(group: Group) -> bool:
    """Say whether the pods of a set are one group: in some kinds each may as well serve alone."""
    if group.workload.kind not in ("StatefulSet", "Deployment", "PodCliqueSet") or len(group.members) == 1:
        return group.workload.kind != "Deployment"
    engine = group.engine
    return group.ray or engine.has("nodes") or engine.has("address") or engine.name == "trtllm"


def _serving(members: tuple[Member, ...], engine: Engine) -> Member:
    head = members[0]
    return Member(head.pods, head.container, engine, Ray(True), head.env)


def _member(pods: Pods, objects: list[Node], *, operated: bool) -> Member:
    seen: list[Member] = []
    for container in pods.containers:
        env = _env(container, pods, objects)
        words = [expand(word, env) for word in tree.words(container, "command")]
        args = [expand(word, env) for word in tree.words(container, "args")]
        argv = words + args if words or operated else command.stock(tree.text(container, "image"), args)
        commands = list(script.commands(argv, env, _scripts(pods, objects)))
        engine = contract.engine(env, pods.rank, args) or _of_rank(command.engines(commands), pods.rank)
        ray = Ray(pods.rank == 0) if operated else command.ray(commands)
        seen.append(Member(pods, container, engine, ray, env))
    with_engine = (each for each in seen if each.engine or each.ray)
    with_devices = (each for each in seen if tree.mapping(each.container, "resources", "limits"))
    nobody = Member(pods, {}, None, None, {})
    return next(with_engine, None) or next(with_devices, None) or next(iter(seen), nobody)


def _of_rank(engines: list[Engine], rank: int) -> Engine | None:
    """Choose among the branches of a script that starts another engine on the first rank than on the others."""
    ours = (each for each in engines if each.has("headless") == (rank > 0))
    return next(ours, None) or next(iter(engines), None)


def _env(container: Node, pods: Pods, objects: list[Node]) -> dict[str, str]:
    known = dict(pods.known)
    for source in tree.items(container, "envFrom"):
        known |= _data(objects, tree.text(source, "configMapRef", "name"))
    for entry in tree.items(container, "env"):
        name, value = tree.text(entry, "name"), entry.get("value")
        label = _LABEL.fullmatch(tree.text(entry, "valueFrom", "fieldRef", "fieldPath"))
        if value is not None:
            known[name] = expand(str(value), known)
        elif label and label[1] in pods.labels:
            known[name] = pods.labels[label[1]]
    return known


def _scripts(pods: Pods, objects: list[Node]) -> dict[str, str]:
    found: dict[str, str] = {}
    for volume in tree.items(pods.spec, "volumes"):
        found |= _data(objects, tree.text(volume, "configMap", "name"))
    return found


def _data(objects: list[Node], name: str) -> dict[str, str]:
    maps = (item for item in objects if item.get("kind") == "ConfigMap" and name)
    found = next((item for item in maps if tree.text(item, "metadata", "name") == name), {})
    return tree.strings(found, "data")
