"""A release as the checks see it: typed, immutable, with every default in place.

The values have passed the chart's schema before they come here, so shapes are known and only defaults are filled in.
What Kubernetes defines (resources, volumes, probes ...) stays as it was written.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from lockstep.owned import engine as facts_of
from lockstep.owned import owned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockstep.inputs import Input
    from lockstep.owned import EngineFacts, Owned
    from lockstep.yamlfile import Value, Values

Table: TypeAlias = "Mapping[str, Value]"

# Who can admit the groups of a stack; the first does when the values name nobody.
MANAGERS: Final = {
    "lws": ("none", "kueue", "kai", "volcano"),
    "kueue": ("kueue",),
    "grove": ("kai",),
    "deployment": ("none",),
}
SECTIONS: Final = ("pod", "leader", "worker")
FACTORS: Final = ("tensor", "pipeline", "data", "context")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@dataclass(frozen=True)
class Model:
    """The model to serve: ``id`` on the hub, name in requests, ``revision`` if pinned, the path of its ``config``."""

    id: str
    served_name: str
    revision: str | None
    config: str | None


@dataclass(frozen=True)
class Engine:
    """The engine.

    Parameters
    ----------
    name, version : str
        Its name, and the declared or default version.
    repository, tag : str or None
        What the values say of the image.
    executor : str or None
        What the values say of the executor.
    ssh : bool
        Whether a Secret with a key for ssh is named.
    args, env : Table
        The user's flags, ``engine.args`` on top of ``engine.argsFor``, and variables.
    own_args : frozenset of str
        Flags of ``engine.args``.
    facts : EngineFacts
        Its row in the chart's table.
    """

    name: str
    version: str
    repository: str | None
    tag: str | None
    executor: str | None
    ssh: bool
    args: Table
    own_args: frozenset[str]
    env: Table
    facts: EngineFacts

    def path(self, key: str) -> str:
        """Give the values path of a flag."""
        return f"engine.args.{key}" if key in self.own_args else f"engine.argsFor.{self.name}.{key}"


@dataclass(frozen=True)
class Stack:
    """What runs the group, and the blocks of settings that were given by stack name."""

    name: str
    blocks: Table


@dataclass(frozen=True)
class Group:
    """The nodes of one replica."""

    nodes: int
    gpus_per_node: int
    resource: str

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.nodes * self.gpus_per_node


@dataclass(frozen=True)
class Layout:
    """How the model is split over the ranks of one replica.

    Parameters
    ----------
    tensor, pipeline, data, context : int
        Its factors.
    expert : int
        Ranks that whole experts are dealt to; 1 if each expert is cut.
    balancing : str
        Who deals requests to data parallel engines.
    data_in_tensor : bool
        Data parallel groups are made of the tensor ranks instead of multiplying them.
    """

    tensor: int
    pipeline: int
    data: int = 1
    context: int = 1
    expert: int = 1
    balancing: str = "internal"
    data_in_tensor: bool = False

    @property
    def engine(self) -> int:
        """GPUs of one data parallel engine."""
        return self.tensor * self.pipeline * self.context

    @property
    def ranks(self) -> int:
        """GPUs that the split needs."""
        return self.engine * (1 if self.data_in_tensor else self.data)

    @property
    def stage(self) -> int:
        """Ranks of a pipeline stage, which can share experts."""
        return self.ranks // self.pipeline

    @property
    def even(self) -> bool:
        """Whether data parallel groups that are made of the tensor ranks are of equal size."""
        return not self.data_in_tensor or self.tensor % self.data == 0

    @property
    def every_pod_serves(self) -> bool:
        """Whether every pod of a replica takes requests, not the leader alone."""
        return self.balancing != "internal"

    def __str__(self) -> str:
        """Name the factors that multiply, in the words of the chart."""
        data = f" x data {self.data}" if self.data > 1 and not self.data_in_tensor else ""
        context = f" x context {self.context}" if self.context > 1 else ""
        return f"tensor {self.tensor} x pipeline {self.pipeline}{data}{context}"


@dataclass(frozen=True)
class Rollout:
    """How an upgrade replaces groups: what was written, and the groups it comes to for these replicas.

    With an autoscaler ``replicas`` is the fewest that serve and ``most`` its most; else both are what was written.
    """

    replicas: int
    most: int
    max_unavailable: str
    max_surge: str
    partition: int

    @property
    def unavailable(self) -> int:
        """Groups that may be missing; a percentage is rounded down."""
        return math.floor(self._groups(self.max_unavailable))

    @property
    def surge(self) -> int:
        """Groups above ``replicas``; a percentage is rounded up."""
        return math.ceil(self._groups(self.max_surge))

    def _groups(self, written: str) -> float:
        return int(written[:-1]) * self.replicas / 100 if written.endswith("%") else int(written)


@dataclass(frozen=True)
class Queue:
    """The queue of the groups, as the values say it: who keeps it, its name and the priority there."""

    manager: str | None
    name: str | None
    priority_class: str | None


@dataclass(frozen=True)
class Weights:
    """Where the pods read the model's weights: the source, and the other keys that were given."""

    source: str
    settings: Table


@dataclass(frozen=True)
class Network:
    """The network between the pods of a group, the resource of its RDMA devices, and whether it is the node's own."""

    env: Table
    rdma: str | None
    of_node: bool


@dataclass(frozen=True)
class Supervisor:
    """Whether the group is supervised, and the seconds between heartbeats and until a silent rank counts as lost."""

    enabled: bool
    heartbeat: int
    deadline: int


@dataclass(frozen=True)
class Section:
    """One of the three places where values describe pods (``pod``, ``leader``, ``worker``)."""

    name: str
    labels: Table
    annotations: Table
    volumes: Table
    volume_mounts: Table
    probes: Table
    node_selector: Table
    scheduler: str | None
    spread: bool
    given: bool


@dataclass(frozen=True)
class Pod:
    """The pod of a role: the values of ``pod`` with the ``own`` ones of the role on top."""

    role: str
    values: Table
    own: Table

    def entries(self, field: str) -> Table:
        """Give the entries of a field that are not null."""
        return given_entries(self.values, field)

    def path(self, field: str, name: str) -> str:
        """Give the values path of an entry: the role's where it has the entry."""
        return f"{self.role if name in table(self.own, field) else 'pod'}.{field}.{name}"


@dataclass(frozen=True)
class Release:
    """One release.

    Parameters
    ----------
    name : str
        Release name.
    fullname : str
        Name of the group's object.
    folder : Path
        Where the values file lies; paths in it are relative to this.
    resources : mapping of str to Table
        Requests and limits of the engine container by the values path that holds them.
    shared_memory : str
        Size of /dev/shm as a quantity.
    capabilities : tuple of str
        Linux capabilities that the engine container adds by the values.
    privileged : bool
        Whether the engine container has all rights on its node.
    hooks : bool
        Whether commands run before the engine.
    startup : int
        Seconds that a start may take.
    evictable : str or None
        Pods that may be evicted at once, as a number or a percentage; None without a budget.
    """

    name: str
    fullname: str
    folder: Path
    model: Model
    engine: Engine
    stack: Stack
    group: Group
    layout: Layout
    rollout: Rollout
    queue: Queue
    topology: str | None
    autoscaling: Table
    weights: Weights
    network: Network
    supervisor: Supervisor
    sections: tuple[Section, ...]
    pods: tuple[Pod, ...]
    resources: Mapping[str, Table]
    shared_memory: str
    capabilities: tuple[str, ...]
    privileged: bool
    hooks: bool
    startup: int
    evictable: str | None
    owned: Owned

    @property
    def manager(self) -> str:
        """Who admits the groups, or ``none``."""
        return self.queue.manager or MANAGERS[self.stack.name][0]

    @property
    def volumes(self) -> frozenset[str]:
        """Names of the volumes that the chart gives every pod of this release."""
        absent = {"models": self.weights.source == "hub", "ssh": not self.engine.ssh}
        return frozenset(name for name in self.owned.mounts.values() if not absent.get(name))

    @property
    def model_reference(self) -> str:
        """What the engine is told to load: a name on the hub, or a path in the container."""
        if self.weights.source == "hub":
            return self.model.id
        below = str(self.weights.settings.get("path") or "").strip("/") if self.weights.source == "pvc" else ""
        return f"/models/{below}" if below else "/models"


def build(given: Input, values: Values) -> Release:
    """Make a release of values that fit the schema.

    Parameters
    ----------
    given : Input
        Where the values come from.
    values : Values
        Merged values.

    Returns
    -------
    Release
        The release.
    """
    group = table(values, "group")
    engine = table(values, "engine")
    facts = facts_of(given.chart, str(engine["name"]))
    stack = table(values, "stack")
    rollout = table(values, "rollout")
    disruption = table(values, "disruption")
    scaling = table(values, "autoscaling")
    weights = table(values, "weights")
    network = table(values, "network")
    model = table(values, "model")
    image = table(engine, "image")
    return Release(
        name=given.name,
        fullname=text(values, "fullnameOverride") or given.name,
        folder=given.file.parent,
        model=Model(
            str(model["id"]),
            text(model, "servedName") or str(model["id"]),
            text(model, "revision"),
            text(model, "config"),
        ),
        engine=Engine(
            str(engine["name"]),
            text(engine, "version") or facts.version,
            text(image, "repository"),
            text(image, "tag"),
            text(engine, "executor"),
            bool(engine.get("sshSecret")),
            _args(engine),
            frozenset(table(engine, "args")),
            given_entries(engine, "env"),
            facts,
        ),
        stack=Stack(str(stack["name"]), {name: block for name, block in stack.items() if name != "name"}),
        group=Group(whole(group["nodes"]), whole(group["gpusPerNode"]), str(group["resourceName"])),
        layout=_layout(table(values, "parallelism"), group, facts),
        rollout=Rollout(
            max(whole(scaling["minReplicas"]), 1) if scaling else whole(values["replicas"]),
            whole(scaling["maxReplicas"] if scaling else values["replicas"]),
            str(rollout["maxUnavailable"]),
            str(rollout["maxSurge"]),
            whole(rollout["partition"]),
        ),
        queue=_queue(table(values, "queue")),
        topology=text(values, "topology"),
        autoscaling=scaling,
        weights=Weights(str(weights["source"]), {key: value for key, value in weights.items() if key != "source"}),
        network=Network(
            given_entries(network, "env"),
            text(table(network, "rdma"), "resource"),
            network.get("hostNetwork") is True,
        ),
        supervisor=_supervisor(table(values, "supervisor")),
        sections=tuple(_section(name, table(values, name)) for name in SECTIONS),
        pods=tuple(_pod(role, values) for role in (SECTIONS[1:] if whole(group["nodes"]) > 1 else ("leader",))),
        resources={
            "resources": table(values, "resources"),
            "leader.resources": table(table(values, "leader"), "resources"),
            "worker.resources": table(table(values, "worker"), "resources"),
        },
        shared_memory=str(table(values, "sharedMemory")["size"]),
        capabilities=_capabilities(values),
        privileged=table(table(values, "security"), "container").get("privileged") is True,
        hooks=bool(table(values, "hooks").get("preLaunch")),
        startup=whole(table(values, "startup")["seconds"]),
        evictable=str(disruption["maxUnavailable"]) if disruption["enabled"] else None,
        owned=owned(given.chart),
    )


def table(values: Table, key: str) -> Table:
    """Give the mapping under a key; an empty one when it is absent or null."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def given_entries(values: Table, key: str) -> Table:
    """Give the entries under a key that are not null: null takes an entry away."""
    return {name: value for name, value in table(values, key).items() if value is not None}


def text(values: Table, key: str) -> str | None:
    """Give the text under a key, None when it is absent, null or empty."""
    value = values.get(key)
    return str(value) if value else None


def whole(value: Value) -> int:
    """Give an integer that the schema lets be written as a number or in digits."""
    return int(value) if isinstance(value, (int, float, str)) else 0


def version(written: str) -> tuple[int, ...]:
    """Give a version's numbers for comparison, suffixes like ``.post1`` aside."""
    match = _VERSION.match(written)
    return tuple(int(number) for number in match[0].split(".")) if match else ()


def _args(engine: Table) -> Table:
    """Lay ``engine.args`` over the flags for this engine; null takes one of these away."""
    merged = {**table(table(engine, "argsFor"), str(engine["name"])), **table(engine, "args")}
    return {name: value for name, value in merged.items() if value is not None}


def _layout(named: Table, group: Table, facts: EngineFacts) -> Layout:
    """Apply the defaults: nothing named, tensor inside a node and pipeline between nodes; else 1 for what is not."""
    given = {factor: named[factor] for factor in FACTORS if named.get(factor) is not None}
    if not given:
        given = {"tensor": group["gpusPerNode"], "pipeline": group["nodes"]}
    tensor, pipeline, data, context = (whole(given.get(factor, 1)) for factor in FACTORS)
    balancing = text(named, "loadBalancing") or "internal"
    layout = Layout(tensor, pipeline, data, context, 1, balancing, facts.data_in_tensor)
    expert = named.get("expert")
    return replace(layout, expert=layout.stage if expert == "all" else whole(expert or 1))


def _queue(values: Table) -> Queue:
    return Queue(text(values, "manager"), text(values, "name"), text(values, "priorityClass"))


def _supervisor(values: Table) -> Supervisor:
    return Supervisor(bool(values["enabled"]), whole(values["heartbeatSeconds"]), whole(values["deadlineSeconds"]))


def _section(name: str, values: Table) -> Section:
    return Section(
        name,
        given_entries(values, "labels"),
        given_entries(values, "annotations"),
        given_entries(values, "volumes"),
        given_entries(values, "volumeMounts"),
        given_entries(values, "probes"),
        table(values, "nodeSelector"),
        text(values, "schedulerName"),
        bool(values.get("topologySpreadConstraints")),
        any(value is not None for value in values.values()),
    )


def _pod(role: str, values: Values) -> Pod:
    """Put the role's values on top: maps entry by entry, anything else whole."""
    common, own = table(values, "pod"), table(values, role)
    merged = {
        field: {**table(common, field), **value} if isinstance(value, dict) else value for field, value in own.items()
    }
    return Pod(role, {**common, **merged}, own)


def _capabilities(values: Values) -> tuple[str, ...]:
    added = table(table(table(values, "security"), "container"), "capabilities").get("add")
    return tuple(str(name) for name in added) if isinstance(added, list) else ()
