"""Every engine on every stack in every layout: it renders what can run, or is refused for the reason stated here."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import kubernetes_validate
import pytest
import yaml

from .rendering import CHART, Object, Rendered, _template, ranks_of, refusal, render, values
from .test_contract import wanted_by_the_scripts
from .test_objects import KUBERNETES, core_objects

if TYPE_CHECKING:
    from pathlib import Path

CODE: Final = re.compile(r"^([A-Z]{3}[0-9]{3}) ", re.MULTILINE)
SCHEMA: Object = yaml.safe_load((CHART / "values.schema.yaml").read_text(encoding="utf-8"))
STACKS: Final = SCHEMA["properties"]["stack"]["properties"]["name"]["enum"]

ENGINES: Final[dict[str, Object]] = {
    "vllm": {"name": "vllm"},
    "ray": {"name": "vllm", "executor": "ray", "image": {"repository": "example.com/vllm-ray"}},
    "sglang": {"name": "sglang"},
    "trtllm": {"name": "trtllm", "sshSecret": {"name": "ssh"}},
}


@dataclass(frozen=True)
class Layout:
    """A split of the model over some nodes, and why some engines cannot run it."""

    nodes: int
    gpus: int
    parallelism: Object
    refused: dict[str, str] = field(default_factory=dict)


NOTHING_TO_SPAN: Final = {"ray": "ENG005", "trtllm": "ENG005"}  # Ray and ssh are for several nodes
NO_DATA: Final = {"ray": "PAR013", "trtllm": "PAR013", "sglang": "PAR001"}  # SGLang's data multiplies nothing

LAYOUTS: Final[dict[str, Layout]] = {
    "t8": Layout(1, 8, {"tensor": 8}, NOTHING_TO_SPAN),
    "t1": Layout(1, 1, {"tensor": 1}, NOTHING_TO_SPAN),
    "by-default": Layout(2, 8, {}),
    "t16": Layout(2, 8, {"tensor": 16}),
    "t4-p4": Layout(2, 8, {"tensor": 4, "pipeline": 4}),
    "p2-experts": Layout(2, 8, {"tensor": 8, "pipeline": 2, "expert": "all"}),
    "t16-p2": Layout(4, 8, {"tensor": 16, "pipeline": 2}),
    "t4-p3": Layout(3, 4, {"tensor": 4, "pipeline": 3}),
    "t16-c2": Layout(4, 8, {"tensor": 16, "context": 2}, {"sglang": "PAR013"}),
    "t8-d2": Layout(2, 8, {"tensor": 8, "data": 2}, NO_DATA),
    "t8-p2-d2": Layout(4, 8, {"tensor": 8, "pipeline": 2, "data": 2}, NO_DATA),
    "t16-d4-in-tensor": Layout(
        2,
        8,
        {"tensor": 16, "data": 4},
        {"vllm": "PAR001", "ray": "PAR001 PAR013", "trtllm": "PAR001 PAR013"},
    ),
    "hybrid": Layout(
        2,
        8,
        {"tensor": 4, "data": 4, "loadBalancing": "hybrid"},
        {"ray": "PAR013", "sglang": "PAR001 PAR012", "trtllm": "PAR012 PAR013"},
    ),
    "external": Layout(
        2,
        8,
        {"tensor": 8, "data": 2, "expert": "all", "loadBalancing": "external"},
        {"ray": "PAR013", "sglang": "PAR001 PAR012", "trtllm": "PAR009 PAR012 PAR013"},
    ),
    "t12": Layout(2, 8, {"tensor": 12}, dict.fromkeys(ENGINES, "PAR001")),
}
COMBINATIONS: Final = list(product(ENGINES, STACKS, LAYOUTS))


def given(engine: str, stack: str, layout: Layout) -> Object:
    """Write the values of a combination."""
    return values(
        {
            "engine": ENGINES[engine],
            "stack": {"name": stack},
            "group": {"nodes": layout.nodes, "gpusPerNode": layout.gpus},
            "parallelism": {"tensor": None, "pipeline": None, **layout.parallelism},
        }
    )


def reasons(engine: str, stack: str, layout: Layout) -> set[str]:
    """Give the codes with which a combination is to be refused."""
    of_the_stack = {"STK001"} if stack == "deployment" and layout.nodes > 1 else set()
    return of_the_stack | set(layout.refused.get(engine, "").split())


def test_the_matrix_is_large_and_mostly_runs() -> None:
    """A matrix of refusals would prove little."""
    runs = [combination for combination in COMBINATIONS if not reasons(*combination[:2], LAYOUTS[combination[2]])]

    assert len(COMBINATIONS) >= 120
    assert len(runs) >= len(COMBINATIONS) // 3


@pytest.mark.parametrize(("engine", "stack", "layout"), COMBINATIONS, ids=["-".join(each) for each in COMBINATIONS])
def test_a_combination_renders_or_is_refused_for_its_reason(engine: str, stack: str, layout: str) -> None:
    """Every object valid, the contract complete, the GPUs those of the layout, and traffic only for who serves."""
    split = LAYOUTS[layout]
    expected = reasons(engine, stack, split)
    if expected:
        assert expected == set(CODE.findall(refusal(given(engine, stack, split))))
        return

    rendered = render(given(engine, stack, split))
    for item in core_objects(rendered):
        is_valid(json.dumps(item))
    assert ranks_of(rendered) == split.nodes * split.gpus
    assert {split.nodes} == {pods_of(item) for item in rendered.stack()}
    for role in rendered.templates():
        made = rendered.engine(role)
        asked = {made[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "readiness", "liveness")}

        assert set() == wanted_by_the_scripts() - set(rendered.env(role)), role
        assert str(split.gpus) == made["resources"]["limits"]["nvidia.com/gpu"]
        assert {"status"} == asked, "the supervisor answers on every pod; the engine's HTTP is not everywhere"
    assert [rank for rank in range(split.nodes) if serves(rank, split)] == selected(rendered, split)


def pods_of(item: Object) -> int:
    """Count the pods of one group of a stack's object."""
    spec = item["spec"]
    if item["kind"] == "LeaderWorkerSet":
        return int(spec["leaderWorkerTemplate"]["size"])
    if item["kind"] == "PodCliqueSet":
        return sum(clique["spec"]["replicas"] for clique in spec["template"]["cliques"])
    return int(spec["replicas"]) if item["kind"] == "StatefulSet" else 1


@cache
def is_valid(item: str) -> bool:
    """Hold an object against the newest schemas of Kubernetes; most combinations share most objects."""
    return bool(kubernetes_validate.validate(json.loads(item), KUBERNETES[-1], strict=True))


def serves(rank: int, layout: Layout) -> bool:
    """Say who has HTTP: the leader, and every rank where the Service deals requests to engines."""
    return rank == 0 or "loadBalancing" in layout.parallelism


def roles(rendered: Rendered, layout: Layout) -> list[str]:
    """Give the role of each rank of a replica; where one template makes all, they have one."""
    first, *others = rendered.templates()
    return [first, *(others or [first]) * (layout.nodes - 1)]


def selected(rendered: Rendered, layout: Layout) -> list[int]:
    """Give the ranks whose pods the Service finds; Kubernetes numbers the pods of a set by a label."""
    (service,) = (
        item for item in rendered.objects if (item["kind"], item["metadata"]["name"]) == ("Service", "r1-api")
    )
    pods = rendered.templates()
    return [
        rank
        for rank, role in enumerate(roles(rendered, layout))
        if service["spec"]["selector"].items()
        <= {**pods[role]["metadata"]["labels"], "apps.kubernetes.io/pod-index": str(rank)}.items()
    ]


SPANNING: Final = [("vllm", "by-default"), ("vllm", "hybrid"), ("ray", "t16"), ("sglang", "t16"), ("trtllm", "t16")]


@pytest.mark.parametrize(("engine", "layout"), SPANNING, ids=["-".join(pair) for pair in SPANNING])
def test_without_a_supervisor_http_is_asked_of_who_serves_alone(engine: str, layout: str) -> None:
    """A probe of a port that nobody holds kills the pod (vllm-project/aibrix#2116)."""
    split = LAYOUTS[layout]
    rendered = render(given(engine, "lws", split) | {"supervisor": {"enabled": False}})
    for rank, role in enumerate(roles(rendered, split)):
        for kind in ("startup", "readiness", "liveness"):
            probe = rendered.engine(role)[f"{kind}Probe"]

            assert ("httpGet" in probe) is serves(rank, split), (role, kind)
            assert ("exec" in probe) is not serves(rank, split), (role, kind)
        before = rendered.engine(role)["lifecycle"]["preStop"]["exec"]["command"]

        assert before == (["sleep", "10"] if serves(rank, split) else ["bash", "/lockstep/launch.sh", "outlast"])


def test_a_health_check_that_runs_a_request_has_time_for_it() -> None:
    """SGLang answers /health after up to 20 s; a probe that gives up earlier restarts a busy server."""
    off = {"supervisor": {"enabled": False}}
    slow = render(given("sglang", "lws", LAYOUTS["t16"]) | off)
    quick = render(given("vllm", "lws", LAYOUTS["t16"]) | off)

    assert {25} == {slow.engine()[f"{kind}Probe"]["timeoutSeconds"] for kind in ("startup", "readiness", "liveness")}
    assert 5 == slow.engine("worker")["readinessProbe"]["timeoutSeconds"]
    assert 5 == quick.engine()["readinessProbe"]["timeoutSeconds"]


@pytest.mark.parametrize(("engine", "layout"), SPANNING, ids=["-".join(pair) for pair in SPANNING])
def test_the_scripts_agree_on_who_serves(engine: str, layout: str, tmp_path: Path) -> None:
    """What launch.sh tells the supervisor under the rendered variables is what the Service selects by."""
    for program in ("vllm", "sglang", "trtllm-serve"):
        (tmp_path / program).write_text("#!/bin/sh\necho 1.0.0\n", encoding="utf-8")
        (tmp_path / program).chmod(0o755)
    split = LAYOUTS[layout]
    rendered = render(given(engine, "lws", split))
    told = [
        rank
        for rank, role in enumerate(roles(rendered, split))
        if "SERVES_HTTP=true" in facts(rendered.env(role), rank, tmp_path)
    ]

    assert told == selected(rendered, split)


def facts(env: dict[str, Any], rank: int, programs: Path) -> str:
    """Run `launch.sh facts` as a pod of a rank would."""
    of_the_pod = {"NODE_RANK": str(rank), "NODE_COUNT": "2", "LEADER_ADDRESS": "r1-0", "GROUP": "serving/r1-0"}
    of_the_pod |= {"POD_IP": "10.0.0.1", "POD_NAME": f"r1-0-{rank}", "POD_UID": "1"}
    variables = {name: value for name, value in env.items() if isinstance(value, str) and "$(" not in value}
    variables |= {f"LOCKSTEP_{name}": value for name, value in of_the_pod.items()}
    variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(CHART / "files" / "launch" / "launch.sh"), "facts"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout


def test_ssh_is_there_for_the_engine_that_needs_it() -> None:
    """A named port, and the user's key for the pods' group alone; no Service selects the worker's sshd."""
    rendered = render(given("trtllm", "lws", LAYOUTS["t16"]))
    for role in rendered.templates():
        engine, env = rendered.engine(role), rendered.env(role)
        (volume,) = (item for item in rendered.pod(role)["volumes"] if item["name"] == "ssh")
        items = [{"key": "ssh-privatekey", "path": "key"}]

        assert {"name": "ssh", "containerPort": 2222, "protocol": "TCP"} in engine["ports"]
        assert {"mountPath": "/ssh", "name": "ssh", "readOnly": True} in engine["volumeMounts"]
        assert {"secretName": "ssh", "defaultMode": 0o440, "items": items} == volume["secret"]
        assert ("2222", "/ssh/key") == (env["LOCKSTEP_SSH_PORT"], env["LOCKSTEP_SSH_KEY"])
    assert ["http"] == [port["targetPort"] for port in rendered["Service"]["spec"]["ports"]]


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "trtllm"])
def test_no_other_engine_has_ssh(engine: str) -> None:
    """An open port that nobody listens on is a riddle."""
    rendered = render(given(engine, "lws", LAYOUTS["t16"]))

    assert "ssh" not in {port["name"] for port in rendered.engine()["ports"]}
    assert "ssh" not in {volume["name"] for volume in rendered.pod()["volumes"]}


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_rendering_twice_gives_the_same_bytes(engine: str, stack: str) -> None:
    """Argo CD renders again and again, for an install as for an upgrade."""
    one_node = stack == "deployment"
    values = given(engine, stack, LAYOUTS["t8" if one_node else "by-default"])
    if one_node:
        values["engine"] = {"name": values["engine"]["name"]}  # without what is for several nodes
    document = yaml.safe_dump(values)
    once, twice = (_template.__wrapped__(CHART, "r1", (document,), flags) for flags in ((), ("--is-upgrade",)))

    assert once == twice


# What a controller makes of the name of the last group's set (h: its hash), and how long that may be.
MADE: Final = {
    "lws": (63, "{name}-{last}-hhhhhhhhhh"),
    "kueue": (63, "statefulset-{name}-hhhhh"),
    "grove": (45, "{name}gworker"),
    "deployment": (63, "{name}-api"),
}


@pytest.mark.parametrize("replicas", [1, 12], ids=["one-group", "twelve-groups"])
@pytest.mark.parametrize("stack", STACKS)
def test_the_longest_name_fits_whatever_is_made_of_it(stack: str, replicas: int) -> None:
    """To the character: a shorter limit would refuse what runs, a longer one leave pods that are never made."""
    layout = LAYOUTS["t8" if stack == "deployment" else "by-default"]
    values = given("vllm", stack, layout) | {"replicas": replicas}
    said = refusal(values | {"fullnameOverride": "n" * 99})
    longest = "n" * int(re.findall(r"but (\d+) is the limit", said)[0])
    rendered = render(values | {"fullnameOverride": longest})
    room, made = MADE[stack]
    services = [item["metadata"]["name"] for item in rendered.objects if item["kind"] == "Service"]
    labels = [label for template in rendered.templates().values() for label in template["metadata"]["labels"].values()]

    assert room == len(made.format(name=rendered.stack()[-1]["metadata"]["name"], last=replicas - 1))
    assert max(map(len, [*services, *labels])) <= 63
