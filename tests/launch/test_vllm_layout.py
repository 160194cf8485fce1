"""engines/vllm/layout.sh: data, expert and Ray layouts over several nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Pod

# Two nodes of eight GPUs that hold two engines each.
FOUR_ENGINES = {"TENSOR": "4", "PIPELINE": "1", "DATA": "4"}
# Two nodes that hold one engine each.
TWO_ENGINES = {"TENSOR": "8", "PIPELINE": "1", "DATA": "2"}
# Four nodes for two engines.
WIDE_ENGINES = {"TENSOR": "8", "PIPELINE": "2", "DATA": "2", "NODE_COUNT": "4"}


def after_layout(pod: Pod) -> list[str]:
    """Return the part of the command that follows the tensor and pipeline sizes."""
    command = pod.run("engine").command
    return command[command.index("--pipeline-parallel-size") + 2 :]


@pytest.mark.parametrize(
    ("rank", "balancing", "tail"),
    [
        ("0", "internal", "--host 0.0.0.0 --port 8000 {meet} --data-parallel-size-local 2"),
        ("1", "internal", "--headless {meet} --data-parallel-size-local 2 --data-parallel-start-rank 2"),
        (
            "0",
            "hybrid",
            "--host 0.0.0.0 --port 8000 {meet} --data-parallel-size-local 2 --data-parallel-start-rank 0"
            " --data-parallel-hybrid-lb",
        ),
        (
            "1",
            "hybrid",
            "--host 0.0.0.0 --port 8000 {meet} --data-parallel-size-local 2 --data-parallel-start-rank 2"
            " --data-parallel-hybrid-lb",
        ),
    ],
    ids=["internal-leader", "internal-worker", "hybrid-leader", "hybrid-worker"],
)
def test_engines_within_nodes(pod: Pod, rank: str, balancing: str, tail: str) -> None:
    """Data parallel engines meet at the leader; who has HTTP follows from the balancing."""
    pod.set(NODE_RANK=rank, LOAD_BALANCING=balancing, **FOUR_ENGINES)
    meet = "--data-parallel-address 127.0.0.2 --data-parallel-rpc-port 29501"

    assert ("--data-parallel-size 4 " + tail.format(meet=meet)).split() == after_layout(pod)


@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
def test_external_balancing(pod: Pod, rank: str) -> None:
    """With one engine per node each pod is one rank with HTTP of its own."""
    pod.set(NODE_RANK=rank, LOAD_BALANCING="external", **TWO_ENGINES)

    assert (
        "--data-parallel-size 2 --host 0.0.0.0 --port 8000 --data-parallel-address 127.0.0.2"
        f" --data-parallel-rpc-port 29501 --data-parallel-rank {rank}"
    ).split() == after_layout(pod)


def test_external_balancing_of_several_engines(pod: Pod) -> None:
    """One port cannot serve two external engines."""
    ended = pod.set(LOAD_BALANCING="external", **FOUR_ENGINES).run("engine")

    assert 64 == ended.code
    assert "each node would hold 2 data parallel engines" in ended.stderr


@pytest.mark.parametrize("rank", ["0", "1", "2", "3"])
def test_engines_over_nodes(pod: Pod, rank: str) -> None:
    """Engines that span nodes are one process group, whose layout vLLM works out itself."""
    role = "--host 0.0.0.0 --port 8000" if rank == "0" else "--headless"
    pod.set(NODE_RANK=rank, **WIDE_ENGINES)

    assert (
        f"--data-parallel-size 2 {role} --distributed-executor-backend mp --nnodes 4 --node-rank {rank}"
        " --master-addr 127.0.0.2 --master-port 29501"
    ).split() == after_layout(pod)


def test_engines_over_nodes_need_a_version(pod: Pod) -> None:
    """Before 0.17 the second engine would bind an address that its node does not have."""
    ended = pod.set(STUB_VERSION="0.16.0", **WIDE_ENGINES).run("engine")

    assert 64 == ended.code
    assert "vLLM 0.16.0 cannot run this layout over 4 nodes" in ended.stderr
    assert "0.17.0" in ended.stderr


def test_engines_over_nodes_balance_inside(pod: Pod) -> None:
    """Only the first node of such an engine has HTTP, so nothing outside can balance."""
    ended = pod.set(LOAD_BALANCING="hybrid", **WIDE_ENGINES).run("engine")

    assert 64 == ended.code
    assert "parallelism.loadBalancing is hybrid, but each engine needs more than one node" in ended.stderr


def test_data_parallel_on_one_node(pod: Pod) -> None:
    """One node needs nothing but the size."""
    pod.set(NODE_COUNT="1", TENSOR="4", PIPELINE="1", DATA="2")

    assert ["--data-parallel-size", "2", "--host", "0.0.0.0", "--port", "8000"] == after_layout(pod)


def test_expert_parallel(pod: Pod) -> None:
    """Every rank gets the same switch."""
    for rank in ("0", "1"):
        assert "--enable-expert-parallel" in pod.set(NODE_RANK=rank, EXPERT="16", **TWO_ENGINES).run("engine").command


def test_no_expert_parallel(pod: Pod) -> None:
    """An expert size of one is none."""
    assert "--enable-expert-parallel" not in pod.set(EXPERT="1").run("engine").command


@pytest.mark.parametrize(
    ("rank", "balancing", "serves"),
    [("0", "internal", "true"), ("1", "internal", "false"), ("1", "hybrid", "true"), ("1", "external", "true")],
)
def test_who_serves(pod: Pod, rank: str, balancing: str, serves: str) -> None:
    """The supervisor learns whether its own rank has HTTP."""
    facts = pod.set(NODE_RANK=rank, LOAD_BALANCING=balancing).run("facts").stdout.splitlines()

    assert f"SERVES_HTTP={serves}" in facts
