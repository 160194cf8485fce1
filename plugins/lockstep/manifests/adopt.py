"""A group put into the values of the serving chart, so that the checks of a release can judge it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.checks import engine, layout, memory, model, network, sglang, vllm
from lockstep.inputs import Input
from lockstep.manifests.command import NAMES, repository
from lockstep.rehearse import tree
from lockstep.release import build
from lockstep.values import coalesce
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockstep.findings import Finding
    from lockstep.manifests.group import Group
    from lockstep.release import Release
    from lockstep.yamlfile import Values

_STACKS: Final = {"StatefulSet": "kueue", "Deployment": "deployment", "PodCliqueSet": "grove"}
_RDMA: Final = re.compile(r"rdma/|vpc\.amazonaws\.com/efa|hca|networking\.gke\.io|nvidia\.com/.*(rdma|sriov|roce)")
_CHECKS: Final = (layout.tensor_across_nodes, model.shape, memory.room, network.gloo_interface, sglang.rules)
_OF_VERSION: Final = (engine.flags_of_version, engine.multi_node_version)


def findings(group: Group, chart: Path) -> Iterator[Finding]:
    """Judge a group by the checks of a release; nothing is said of a layout that does not fill its pods evenly."""
    release = _release(group, chart)
    if release is None:
        return
    for check in (*_CHECKS, *(_OF_VERSION if group.leader.version else ())):
        yield from check(release)
    if release.engine.name == "vllm" and release.group.nodes > 1 and group.leader.version:
        yield from vllm.ray(release) if group.ray else vllm.mp(release)


def _release(group: Group, chart: Path) -> Release | None:
    told, workload = group.engine, group.workload
    ranks, nodes = told.ranks, workload.size
    per_pod = {each.devices()[1] for each in workload.pods if each.devices()[1]}
    if ranks is None or not nodes or ranks % nodes or ranks > workload.gpus or len(per_pod) != 1:
        return None
    pods = group.leader.pods
    values: Values = {
        "model": {"id": told.text("model") or "absent"},
        "engine": {
            "name": told.name,
            "args": {name: _value(text) for name, text in told.others()},
            "env": {**group.leader.env},
            **({"version": group.leader.version} if group.leader.version else {}),
            **({"executor": "ray"} if group.ray and told.name == "vllm" else {}),
            **({} if group.leader.own else {"image": {"repository": repository(group.leader.image) or "absent"}}),
        },
        "stack": {"name": _STACKS.get(workload.kind, "lws")},
        "group": {"nodes": nodes, "gpusPerNode": ranks // nodes, "resourceName": pods.devices()[0]},
        "parallelism": {part: told.number(part) or 1 for part in NAMES[told.name] if part in _factors(group)},
        "network": _network(group),
        "pod": {"nodeSelector": {**tree.strings(pods.spec, "nodeSelector")}},
    }
    if told.has("experts"):
        values["parallelism"] = {**tree.mapping(values, "parallelism"), "expert": _experts(group)}
    given = Input(chart / "values.yaml", (), chart, workload.name.partition("/")[0], workload.namespace)
    return build(given, coalesce(read(given.file), values))


def _factors(group: Group) -> tuple[str, ...]:
    """Give the factors that multiply; SGLang's data parallel engines beside each other are replicas."""
    told = group.engine
    plain = told.name == "sglang" and not told.has("attention")
    return ("tensor", "pipeline") if plain else ("tensor", "pipeline", "data", "context")


def _experts(group: Group) -> int | str:
    written = group.engine.text("experts")
    return "all" if written == "true" else int(written) if written.isdecimal() else 1


def _network(group: Group) -> Values:
    asked = (name for c in group.leader.pods.containers for name in tree.mapping(c, "resources", "limits"))
    rdma = next((name for name in asked if _RDMA.search(name)), None)
    return {"rdma": {"resource": rdma, "count": 1}} if rdma else {}


def _value(text: str) -> str | bool:
    return True if text == "true" else text
