"""The contract: every engine container, on every stack, carries the variables that the launch scripts ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .rendering import CHART, FIVE_LINES, ONE_NODE, ROOT, Object, refusal, render, values

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = [*sorted((CHART / "ci").glob("*.yaml")), *sorted((ROOT / "values" / "examples").glob("*.yaml"))]
REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$\((\w+)\)")
FROM_LWS = {"LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"}

SAME_ON_ALL_STACKS = {
    "LOCKSTEP_ENGINE": "vllm",
    "LOCKSTEP_MODEL": "deepseek-ai/DeepSeek-R1",
    "LOCKSTEP_SERVED_NAME": "deepseek-ai/DeepSeek-R1",
    "LOCKSTEP_DATA": "1",
    "LOCKSTEP_CONTEXT": "1",
    "LOCKSTEP_EXPERT": "1",
    "LOCKSTEP_LOAD_BALANCING": "internal",
    "LOCKSTEP_EXECUTOR": "mp",
    "LOCKSTEP_PORT": "8000",
    "LOCKSTEP_STATUS_PORT": "7070",
    "LOCKSTEP_MEMBERSHIP_PORT": "7071",
    "LOCKSTEP_MASTER_PORT": "29501",
    "LOCKSTEP_STARTUP_SECONDS": "5400",
    "LOCKSTEP_DRAIN_SECONDS": "120",
    "LOCKSTEP_PROPAGATION_SECONDS": "10",
    "LOCKSTEP_SUPERVISOR": "true",
    "LOCKSTEP_HEARTBEAT_SECONDS": "1",
    "LOCKSTEP_DEADLINE_SECONDS": "10",
    "LOCKSTEP_MAX_RESTARTS": "5",
    "LOCKSTEP_STABLE_SECONDS": "600",
    "LOCKSTEP_STALL_SECONDS": "120",
    "LOCKSTEP_POD_IP": {"fieldRef": {"fieldPath": "status.podIP"}},
    "LOCKSTEP_POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
    "LOCKSTEP_POD_UID": {"fieldRef": {"fieldPath": "metadata.uid"}},
}
LWS = {
    "LOCKSTEP_GROUP_INDEX": {"fieldRef": {"fieldPath": "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"}},
    "LOCKSTEP_GROUP": "serving/r1-$(LOCKSTEP_GROUP_INDEX)",
    "LOCKSTEP_NODE_RANK": "$(LWS_WORKER_INDEX)",
    "LOCKSTEP_NODE_COUNT": "$(LWS_GROUP_SIZE)",
    "LOCKSTEP_LEADER_ADDRESS": "$(LWS_LEADER_ADDRESS)",
    "LOCKSTEP_GPUS_PER_NODE": "8",
    "LOCKSTEP_TENSOR": "8",
    "LOCKSTEP_PIPELINE": "2",
}
DEPLOYMENT = {
    "LOCKSTEP_GROUP": "serving/$(LOCKSTEP_POD_NAME)",
    "LOCKSTEP_NODE_RANK": "0",
    "LOCKSTEP_NODE_COUNT": "1",
    "LOCKSTEP_LEADER_ADDRESS": "$(LOCKSTEP_POD_IP)",
    "LOCKSTEP_GPUS_PER_NODE": "4",
    "LOCKSTEP_TENSOR": "4",
    "LOCKSTEP_PIPELINE": "1",
}


@pytest.mark.parametrize(("expected", "changes"), [(LWS, {}), (DEPLOYMENT, ONE_NODE)], ids=["lws", "deployment"])
def test_the_contract_is_exactly_this(expected: Object, changes: Object) -> None:
    """The whole of it, equal on leader and worker; the scripts tell them apart by the rank."""
    for role in render(values(changes)).templates():
        contract = {name: value for name, value in render(values(changes)).env(role).items() if "LOCKSTEP" in name}

        assert SAME_ON_ALL_STACKS | expected == contract


def wanted_by_the_scripts() -> set[str]:
    """Read the names that launch.sh refuses to start without."""
    source = (CHART / "files" / "launch" / "lib" / "contract.sh").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:words|numbers|supervised)=\(([^)]*)\)", source, re.MULTILINE)
    return {f"LOCKSTEP_{name}" for names in lists for name in names.split()}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_engine_has_what_its_scripts_ask_for(file: Path) -> None:
    """The list is read from the script, so neither side can change alone."""
    rendered = render(file)
    for role in rendered.templates():
        assert set() == wanted_by_the_scripts() - set(rendered.env(role))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_references_point_backwards(file: Path) -> None:
    """Kubelet expands $(NAME) only for variables that stand before it."""
    rendered = render(file)
    for role in rendered.templates():
        known = FROM_LWS if "worker" in rendered.templates() else set()
        for item in rendered.engine(role)["env"]:
            assert set(REFERENCE.findall(item.get("value", ""))) <= known, item["name"]

            known = known | {item["name"]}


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param({"LOCKSTEP_REVISION": "abc"}, {"model": {"revision": "abc"}}, id="revision"),
        pytest.param({"LOCKSTEP_SERVED_NAME": "r1"}, {"model": {"servedName": "r1"}}, id="served-name"),
        pytest.param({"LOCKSTEP_INTERFACE": "eth1"}, {"network": {"interface": "eth1"}}, id="interface"),
        pytest.param({"LOCKSTEP_SUPERVISOR": "false"}, {"supervisor": {"enabled": False}}, id="no-supervisor"),
        pytest.param({"LOCKSTEP_MAX_RESTARTS": "0"}, {"supervisor": {"maxRestarts": 0}}, id="zero-restarts"),
        pytest.param(
            {"LOCKSTEP_GROUP_TOKEN": {"secretKeyRef": {"name": "keys", "key": "token"}}},
            {"supervisor": {"tokenSecret": {"name": "keys"}}},
            id="token",
        ),
        pytest.param(
            {"LOCKSTEP_PRELAUNCH": '[{"command":["sh","-c","echo $$HOME $$$$ <&> 日本"],"name":"a"}]'},
            {"hooks": {"preLaunch": [{"name": "a", "command": ["sh", "-c", "echo $HOME $$ <&> 日本"]}]}},
            id="hooks",
        ),
        pytest.param(
            {"LOCKSTEP_TENSOR": "8", "LOCKSTEP_PIPELINE": "2"},
            {"parallelism": {"tensor": None, "pipeline": None}},
            id="parallelism-absent",
        ),
        pytest.param(
            {"LOCKSTEP_TENSOR": "16", "LOCKSTEP_PIPELINE": "1"},
            {"parallelism": {"tensor": "16", "pipeline": None}},
            id="a-factor-not-named-is-1",
        ),
    ],
)
def test_optional_parts(expected: Object, changes: Object) -> None:
    """Each value reaches its variable on both roles."""
    for role in ("leader", "worker"):
        assert expected.items() <= render(values(changes)).env(role).items()


def test_optional_variables_are_absent_by_default() -> None:
    """An empty variable would stop the start."""
    absent = {"LOCKSTEP_REVISION", "LOCKSTEP_INTERFACE", "LOCKSTEP_GROUP_TOKEN", "LOCKSTEP_PRELAUNCH", "LOCKSTEP_BIND"}

    assert set() == absent & set(render(FIVE_LINES).env())


@pytest.mark.parametrize("name", ["LOCKSTEP_TENSOR", "LWS_GROUP_SIZE", "VLLM_HOST_IP", "VLLM_PORT", "HF_TOKEN"])
@pytest.mark.parametrize("path", ["engine", "network"])
def test_the_contract_cannot_be_set_by_hand(path: str, name: str) -> None:
    """Two sources for one number disagree sooner or later."""
    assert f"ENG002 {path}.env.{name}" in refusal(values({path: {"env": {name: "1"}}}))
