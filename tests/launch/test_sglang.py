"""engines/sglang.sh: one command on every node but for its rank."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from .conftest import ENGINE, SUPERVISED

if TYPE_CHECKING:
    from .conftest import Pod

MODEL = ["--model-path", "meta-llama/Llama-3.1-405B", "--served-model-name", "llama"]
SUGGESTED = ["--dist-timeout", "5400", "--enable-metrics"]
HTTP = ["--host", "0.0.0.0", "--port", "8000"]


@pytest.fixture
def sglang(pod: Pod) -> Pod:
    """Return a leader of two nodes whose image has SGLang."""
    pod.stub("sglang", ENGINE, sys.executable)
    return pod.set(ENGINE="sglang", STUB_VERSION="0.5.23")


@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
def test_command(sglang: Pod, rank: str) -> None:
    """Both ranks listen on all addresses and differ in nothing but the rank."""
    command = sglang.set(NODE_RANK=rank).run("engine", "--context-length", "8192").command

    meet = ["--nnodes", "2", "--node-rank", rank, "--dist-init-addr", "127.0.0.2:29501"]
    layout = ["--tp-size", "8", "--pp-size", "2"]
    assert ["sglang", "serve", *MODEL, *SUGGESTED, "--context-length", "8192", *layout, *HTTP, *meet] == command


def test_one_node(sglang: Pod) -> None:
    """A group of one node has nobody to meet."""
    command = sglang.set(NODE_COUNT="1", PIPELINE="1").run("engine").command

    assert ["sglang", "serve", *MODEL, *SUGGESTED, "--tp-size", "8", "--pp-size", "1", *HTTP] == command


def test_module_where_there_is_no_command(sglang: Pod) -> None:
    """Older images have the module alone."""
    (sglang.stubs / "sglang").unlink()

    assert ["python3", "-m", "sglang.launch_server"] == sglang.run("engine").command[:3]


def test_ipv6(sglang: Pod) -> None:
    """SGLang wants brackets around an IPv6 address."""
    command = sglang.set(POD_IP="::1").run("engine").command

    assert "[::1]:29501" == command[command.index("--dist-init-addr") + 1]
    assert "::" == command[command.index("--host") + 1]


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("0.5.23", ["--attn-dp-size", "4"]),
        ("0.5.10", ["--dp-size", "4", "--enable-dp-attention"]),
        ("unknown", ["--dp-size", "4", "--enable-dp-attention"]),
        ("sglang version: 0.5.24\ngit revision: 16c8ff4", ["--attn-dp-size", "4"]),
    ],
)
def test_attention_data_parallel(sglang: Pod, version: str, flags: list[str]) -> None:
    """The same layout in the spelling of the version."""
    command = sglang.set(STUB_VERSION=version, DATA="4", TENSOR="16", PIPELINE="1").run("engine").command
    start = command.index("--pp-size") + 2

    assert flags == command[start : start + len(flags)]


def test_attention_groups_of_unequal_size(sglang: Pod) -> None:
    """Data parallel groups that do not divide the tensor ranks are refused with both numbers."""
    ended = sglang.set(DATA="3").run("engine")

    assert 64 == ended.code
    assert "parallelism.data is 3, but parallelism.tensor is 8" in ended.stderr


def test_expert_parallel(sglang: Pod) -> None:
    """The expert size is a number to SGLang."""
    command = sglang.set(EXPERT="8").run("engine").command

    assert "8" == command[command.index("--ep-size") + 1]


@pytest.mark.parametrize("port", ["29501", "29511"])
def test_ports_of_the_ranks(sglang: Pod, port: str) -> None:
    """HTTP may not lie among the ports that SGLang binds after the master port."""
    ended = sglang.set(PORT=port).run("engine")

    assert 64 == ended.code
    assert f"LOCKSTEP_PORT is {port}, but SGLang keeps ports 29501 to 29511" in ended.stderr


def test_no_context_parallel(sglang: Pod) -> None:
    """A layout that Lockstep does not know is refused, not ignored."""
    ended = sglang.set(CONTEXT="2").run("engine")

    assert 64 == ended.code
    assert "parallelism.context is 2" in ended.stderr


@pytest.mark.parametrize(("supervisor", "value"), [("true", "0"), ("false", None)], ids=["supervised", "alone"])
def test_health_page(sglang: Pod, supervisor: str, value: str | None) -> None:
    """/health runs a request of its own only where no supervisor does."""
    report = "import json, os; print(json.dumps({'environment': dict(os.environ)}))"
    (sglang.launch / "supervisor.py").write_text(report)
    seen = sglang.set(**SUPERVISED).set(SUPERVISOR=supervisor).run().engine["environment"]
    assert isinstance(seen, dict)

    assert value == seen.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION")
    assert "127.0.0.2" == seen["SGLANG_HOST_IP"]


@pytest.mark.parametrize(("rank", "serves"), [("0", "true"), ("1", "false")], ids=["leader", "worker"])
def test_facts(sglang: Pod, rank: str, serves: str) -> None:
    """A worker's HTTP port says 200 to everything, so it does not count as serving."""
    facts = dict(line.split("=", 1) for line in sglang.set(NODE_RANK=rank).run("facts").stdout.splitlines())

    assert ("0.5.23", serves, "/health") == (facts["ENGINE_VERSION"], facts["SERVES_HTTP"], facts["HEALTH_PATH"])
    assert "sglang:num_running_reqs" == facts["RUNNING_METRIC"]
