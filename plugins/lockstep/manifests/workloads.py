"""The pods that together hold one replica of a model, whatever object makes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.quantity import amount
from lockstep.rehearse import tree
from lockstep.yamlfile import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lockstep.rehearse.tree import Node

LWS: Final = "leaderworkerset.sigs.k8s.io"
INDEX: Final = "apps.kubernetes.io/pod-index"
# Extended resources that engines compute on.
ACCELERATORS: Final = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915", "gpu.intel.com/xe")


@dataclass(frozen=True)
class Pods:
    """Pods of a group that are made from one template.

    Parameters
    ----------
    role : str
        ``leader``, ``worker``, or the name that the object gives them.
    count : int
        How many of them a group has.
    rank : int
        Rank of the first of them, as far as the object says.
    template : Node
        Their pod template.
    labels : mapping of str to str
        Their labels, those of the controller included.
    known : mapping of str to str
        Variables that the controller sets.
    """

    role: str
    count: int
    rank: int
    template: Node
    labels: Mapping[str, str]
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> Node:
        """Their pod spec."""
        return tree.mapping(self.template, "spec")

    @property
    def containers(self) -> list[Node]:
        """Their containers, init containers aside."""
        return tree.items(self.spec, "containers")

    def devices(self) -> tuple[str, int]:
        """Give the accelerator's resource and how many of it one pod asks for; empty and 0 without any."""
        found: dict[str, int] = {}
        for container in self.containers:
            for kind in ("requests", "limits"):
                for name, asked in tree.mapping(container, "resources", kind).items():
                    number = amount(asked) if isinstance(asked, (int, str)) else None
                    if name in ACCELERATORS and number:
                        found[name] = max(found.get(name, 0), int(number))
        return next(iter(found.items()), ("", 0))


@dataclass(frozen=True)
class Workload:
    """One object and the pods of one of its groups.

    Parameters
    ----------
    kind, name, namespace : str
        The object.
    pods : tuple of Pods
        Those of one group, the leader's first.
    spec : Node
        The object's spec.
    size_path : str
        Where the object says how many pods a group has.
    settings : Node
        What the object itself tells the engine, by flag; a RayService does.
    """

    kind: str
    name: str
    namespace: str
    pods: tuple[Pods, ...]
    spec: Node
    size_path: str
    settings: Node = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its kind and name, for messages."""
        return f"{self.kind}/{self.name}"

    @property
    def size(self) -> int:
        """Pods of one group that have accelerators."""
        return sum(pods.count for pods in self.pods if pods.devices()[1])

    @property
    def gpus(self) -> int:
        """Accelerators of one group."""
        return sum(pods.count * pods.devices()[1] for pods in self.pods)

    def alone(self) -> Workload:
        """Give the same object with each pod a group of its own."""
        first = self.pods[0]
        return replace(self, pods=(replace(first, count=1),))


def find(objects: list[Node]) -> Iterator[Workload]:
    """Find the workloads of the kinds that are read."""
    for item in objects:
        reader = _READERS.get(tree.text(item, "kind"))
        if reader is not None and tree.text(item, "apiVersion").partition("/")[0] in reader[0]:
            yield from reader[1](item)


def unread(objects: list[Node]) -> Iterator[str]:
    """Name the objects of other kinds that make pods with accelerators."""
    for item in objects:
        kind = tree.text(item, "kind")
        if kind not in _READERS and kind != "CustomResourceDefinition" and _asks(item.get("spec")):
            yield f"{kind}/{tree.text(item, 'metadata', 'name')}"


def _asks(part: object) -> bool:
    """Say whether an accelerator is asked for anywhere below."""
    if isinstance(part, dict):
        return any(name in part for name in ACCELERATORS) or any(_asks(value) for value in part.values())
    return isinstance(part, list) and any(_asks(value) for value in part)


def _whole(node: Node, *path: str, default: int) -> int:
    found = tree.mapping(node, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else default


def _start(item: Node) -> tuple[str, str, str]:
    metadata = tree.mapping(item, "metadata")
    return (
        tree.text(item, "kind"),
        tree.text(metadata, "name"),
        tree.text(metadata, "namespace", default="default"),
    )


def _labels(template: Node) -> dict[str, str]:
    return tree.strings(template, "metadata", "labels")


def _lws(item: Node) -> Iterator[Workload]:
    """Read a LeaderWorkerSet; labels and variables as its webhook adds them (kubernetes-sigs/lws, pkg/utils/pod)."""
    kind, name, namespace = _start(item)
    body = tree.mapping(item, "spec", "leaderWorkerTemplate")
    size = _whole(body, "size", default=1)
    worker = tree.mapping(body, "workerTemplate")
    leader = tree.mapping(body, "leaderTemplate") or worker
    pods = []
    for role, rank, count, template in (("leader", 0, 1, leader), ("worker", 1, size - 1, worker)):
        labels = _labels(template) | {f"{LWS}/name": name, f"{LWS}/worker-index": str(rank)}
        known = {
            "LWS_LEADER_ADDRESS": f"{name}-0.{name}.{namespace}",
            "LWS_GROUP_SIZE": str(size),
            "LWS_WORKER_INDEX": str(rank),
        }
        if count > 0:
            pods.append(Pods(role, count, rank, template, labels, known))
    yield Workload(kind, name, namespace, tuple(pods), tree.mapping(item, "spec"), "spec.leaderWorkerTemplate.size")


def _stateful(item: Node) -> Iterator[Workload]:
    kind, name, namespace = _start(item)
    template, size = tree.mapping(item, "spec", "template"), _whole(item, "spec", "replicas", default=1)
    pods = tuple(
        Pods(role, count, rank, template, _labels(template) | {INDEX: str(rank)})
        for role, rank, count in (("leader", 0, 1), ("worker", 1, size - 1))
        if count > 0
    )
    yield Workload(kind, name, namespace, pods, tree.mapping(item, "spec"), "spec.replicas")


def _deployment(item: Node) -> Iterator[Workload]:
    kind, name, namespace = _start(item)
    template = tree.mapping(item, "spec", "template")
    pods = (Pods("leader", 1, 0, template, _labels(template)),)
    yield Workload(kind, name, namespace, pods, tree.mapping(item, "spec"), "spec.replicas")


def _ray(item: Node) -> Iterator[Workload]:
    """Read a RayCluster, or the one of a RayService (ray-project/kuberay, apis/ray/v1)."""
    kind, name, namespace = _start(item)
    service = kind == "RayService"
    spec = tree.mapping(item, "spec", "rayClusterConfig") if service else tree.mapping(item, "spec")
    head = tree.mapping(spec, "headGroupSpec", "template")
    pods = [Pods("leader", 1, 0, head, _labels(head) | {"ray.io/node-type": "head"})]
    for group in tree.items(spec, "workerGroupSpecs"):
        template = tree.mapping(group, "template")
        count = _whole(group, "replicas", default=1) * _whole(group, "numOfHosts", default=1)
        labels = _labels(template) | {"ray.io/node-type": "worker", "ray.io/group": tree.text(group, "groupName")}
        if count:
            pods.append(Pods(tree.text(group, "groupName", default="worker"), count, 1, template, labels))
    settings = _served(tree.text(item, "spec", "serveConfigV2")) if service else {}
    yield Workload(kind, name, namespace, tuple(pods), spec, "workerGroupSpecs", settings)


def _served(config: str) -> Node:
    """Give what the first model of a Serve config tells vLLM (ray.serve.llm LLMConfig)."""
    try:
        config_node: Node = parse(config)
    except ValuesError:
        return {}
    for application in tree.items(config_node, "applications"):
        for model in tree.items(application, "args", "llm_configs"):
            loading = tree.mapping(model, "model_loading_config")
            source = tree.text(loading, "model_source") or tree.text(loading, "model_id")
            return {"model": source, **tree.mapping(model, "engine_kwargs")}
    return {}


def _cliques(item: Node) -> Iterator[Workload]:
    """Read a PodCliqueSet: each scaling group is a group, and so is each clique that is in none."""
    kind, name, namespace = _start(item)
    template = tree.mapping(item, "spec", "template")
    cliques = {tree.text(clique, "name"): clique for clique in tree.items(template, "cliques")}
    together = [tree.words(group, "cliqueNames") for group in tree.items(template, "podCliqueScalingGroups")]
    inside = {clique for names in together for clique in names}
    for names in (*together, *([clique] for clique in cliques if clique not in inside)):
        members = [cliques[clique] for clique in names if clique in cliques]
        pods, rank = [], 0
        total = sum(_whole(clique, "spec", "replicas", default=1) for clique in members)
        for clique in members:
            count = _whole(clique, "spec", "replicas", default=1)
            body = {
                "metadata": {"labels": tree.mapping(clique, "labels")},
                "spec": tree.mapping(clique, "spec", "podSpec"),
            }
            known = {"GROVE_PCSG_TEMPLATE_NUM_PODS": str(total), "GROVE_PCLQ_POD_INDEX": "0"}
            role = "leader" if rank == 0 else tree.text(clique, "name")
            if count:
                pods.append(Pods(role, count, rank, body, tree.strings(clique, "labels"), known))
            rank += count
        if pods:
            label = f"{name}/{'+'.join(names)}"
            yield Workload(kind, label, namespace, tuple(pods), template, "replicas of the cliques")


_Reader = tuple[tuple[str, ...], "Callable[[Node], Iterator[Workload]]"]
_READERS: Final[dict[str, _Reader]] = {
    "LeaderWorkerSet": (("leaderworkerset.x-k8s.io",), _lws),
    "StatefulSet": (("apps",), _stateful),
    "Deployment": (("apps",), _deployment),
    "RayCluster": (("ray.io",), _ray),
    "RayService": (("ray.io",), _ray),
    "PodCliqueSet": (("grove.io",), _cliques),
}
