"""engines/trtllm.sh: an MPI job over ssh, with stubs and with the real Open MPI and OpenSSH."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .conftest import ENGINE
from .containers import Container
from .test_arguments import HOSTILE

if TYPE_CHECKING:
    from .conftest import Pod

LAYOUT = ["--tp_size", "8", "--pp_size", "2", "--gpus_per_node", "8", "--host", "0.0.0.0", "--port", "8000"]


@pytest.fixture
def trtllm(pod: Pod) -> Pod:
    """Return a leader of two nodes whose image has TensorRT-LLM."""
    pod.stub("trtllm-serve", ENGINE, sys.executable)
    return pod.set(ENGINE="trtllm", STUB_VERSION="1.3.0", MODEL="/models/llama")


def test_leader(trtllm: Pod) -> None:
    """The leader runs the server under MPI."""
    command = trtllm.run("engine", "--max_batch_size", "8").command

    assert command[0] == "bash"
    assert command[1].endswith("/engines/trtllm/mpi.sh")
    assert [
        "lead",
        "trtllm-serve",
        "/models/llama",
        "--served_model_name",
        "llama",
        "--max_batch_size",
        "8",
        *LAYOUT,
    ] == command[2:]


def test_worker(trtllm: Pod) -> None:
    """Another rank offers its node to the leader."""
    assert ["join", "127.0.0.2"] == trtllm.set(NODE_RANK="1", POD_IP="127.0.0.3").run("engine").command[2:]


def test_one_node(trtllm: Pod) -> None:
    """On one node the server needs no MPI launcher."""
    command = trtllm.set(NODE_COUNT="1", PIPELINE="1").run("engine").command

    assert ["trtllm-serve", "/models/llama"] == command[:2]


def test_other_sizes(trtllm: Pod) -> None:
    """Context and expert sizes have flags."""
    command = trtllm.set(CONTEXT="2", EXPERT="4", REVISION="abc").run("engine").command

    assert "2" == command[command.index("--cp_size") + 1]
    assert "4" == command[command.index("--ep_size") + 1]
    assert "abc" == command[command.index("--revision") + 1]


@pytest.mark.parametrize("flag", ["--config", "--extra_llm_api_options"])
def test_config_becomes_a_file(trtllm: Pod, flag: str) -> None:
    """A map in the values is a file to the engine."""
    config = {"enable_attention_dp": True, "text": "a b $HOME"}
    command = trtllm.run("engine", flag, json.dumps(config)).command
    path = command[command.index(flag) + 1]

    assert config == json.loads(Path(path).read_text())


def test_config_that_is_a_file(trtllm: Pod) -> None:
    """A path stays a path."""
    command = trtllm.run("engine", "--config", "/etc/trtllm.yaml").command

    assert "/etc/trtllm.yaml" == command[command.index("--config") + 1]


@pytest.mark.parametrize("name", ["llama", "other"])
def test_name_before_it_had_a_flag(trtllm: Pod, name: str) -> None:
    """An older version serves the model under its own name; another is refused, naming the one to use."""
    ended = trtllm.set(STUB_VERSION="1.2.0", SERVED_NAME=name).run("engine")

    assert (0 if name == "llama" else 64) == ended.code
    assert "--served_model_name" not in ended.command
    assert (name == "llama") or "serves the model as 'llama'" in ended.stderr


def test_data_parallel(trtllm: Pod) -> None:
    """Data parallel attention is a setting of the config."""
    ended = trtllm.set(DATA="2").run("engine")

    assert 64 == ended.code
    assert "parallelism.data is 2" in ended.stderr


def test_ipv6(trtllm: Pod) -> None:
    """The server binds IPv4 only."""
    ended = trtllm.set(POD_IP="::1").run("engine")

    assert 64 == ended.code
    assert "IPv6" in ended.stderr


def run_command(pod: Pod) -> subprocess.CompletedProcess[str]:
    """Run what ``launch.sh engine`` prints."""
    command = pod.run("engine", "--seed", "1").command
    return subprocess.run(command, env=pod.environment, capture_output=True, text=True, timeout=20, check=False)


def with_key(pod: Pod) -> Pod:
    """Give the group a key."""
    key = pod.stubs / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return pod.set(SSH_KEY=str(key), GLOO_SOCKET_IFNAME="lo")


needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH (openssh-client)")


@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
def test_no_key(trtllm: Pod, rank: str) -> None:
    """A group without a key is told which Secret it needs."""
    for program in ("mpirun", "sshd", "ssh-keygen"):
        trtllm.stub(program, "exit 9\n")
    done = run_command(trtllm.set(NODE_RANK=rank, GLOO_SOCKET_IFNAME="lo"))

    assert 64 == done.returncode
    assert "Name a Secret of type kubernetes.io/ssh-auth" in done.stderr


@needs_ssh
def test_node_that_never_comes(trtllm: Pod) -> None:
    """The wait is bounded, says who is missing, and mpirun is not started."""
    trtllm.stub("mpirun", "exit 9\n")
    done = run_command(with_key(trtllm).set(STARTUP_SECONDS="1", MASTER_PORT="0"))

    assert 1 == done.returncode
    assert "1 of 2 MPI nodes are there, missing are the ranks 1, after 1 s" in done.stderr


def introduce(port: int, *lines: bytes) -> None:
    """Send lines to the leader, each over its own connection."""
    for line in lines:
        for _ in range(100):
            try:
                with socket.create_connection(("127.0.0.2", port), timeout=2) as connection:
                    connection.sendall(line)
                    connection.shutdown(socket.SHUT_WR)
                    with contextlib.suppress(ConnectionResetError):
                        connection.recv(8)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)


@needs_ssh
def test_hosts_in_rank_order(trtllm: Pod) -> None:
    """Nodes may come in any order, strangers and garbage are dropped; hosts carry their slots in rank order."""
    trtllm.stub("mpirun", 'printf "%s\\n" "$@"\n')
    with socket.create_server(("127.0.0.2", 0)) as free:
        port = free.getsockname()[1]
    pod = with_key(trtllm).set(NODE_COUNT="3", MASTER_PORT=str(port))

    def node(rank: int, address: str, group: str = "models/llama-0") -> bytes:
        return json.dumps({"group": group, "rank": rank, "address": address}).encode() + b"\n"

    strangers = [
        *(b"GET / HTTP/1.1\n", b"[]\n", b"x" * 9000),
        *(node(2, "10.9.9.9", "models/other-0"), node(7, "10.9.9.9"), node(1, "evil -o ProxyCommand")),
    ]
    lines = [b"", *strangers, node(2, "10.0.0.12"), node(1, "10.0.0.11")]
    sender = threading.Thread(target=introduce, args=(port, *lines))
    sender.start()
    done = run_command(pod)
    sender.join()
    arguments = done.stdout.splitlines()

    assert "127.0.0.2:8,10.0.0.11:8,10.0.0.12:8" == arguments[arguments.index("--host") + 1]
    assert "24" == arguments[arguments.index("-n") + 1]
    assert done.stderr.count("is no node of this group") == len(strangers)


TOOLS = ("mpirun", "sshd", "ssh", "ssh-keygen")
MISSING = [tool for tool in TOOLS if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin") is None]
needs_mpi = pytest.mark.skipif(
    bool(MISSING),
    reason=f"needs Open MPI and OpenSSH (openmpi-bin, openssh-server; missing: {', '.join(MISSING)})",
)

# Stands for trtllm-llmapi-launch: rank 0 runs its words, split again; the others serve it until they are ended.
LAUNCH_TOOL = """\
echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on node $LOCKSTEP_NODE_RANK text=${TEXT@Q}"
if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then
  task="$*"
  $task &
  wait
  exec sleep 1000
fi
exec /bin/sleep 1000
"""
SERVER = """\
import json, signal, sys
if sys.argv[1:] == ["--version"]:
    print("1.3.0")
    sys.exit()
print("argv", json.dumps(sys.argv[1:]), flush=True)
if "--fail" in sys.argv:
    sys.exit(3)
signal.pause()
"""


@pytest.fixture
def job(trtllm: Pod, networks: list[tuple[str, ...]]) -> Pod:
    """Return a group of two nodes with two ranks each, a key, and stand-ins for the programs of the image."""
    assert len(networks) == 2
    trtllm.stub("trtllm-llmapi-launch", LAUNCH_TOOL)
    trtllm.stub("trtllm-serve", SERVER, sys.executable)
    (trtllm.stubs / "sleep").unlink()
    return (
        with_key(trtllm)
        .set(LEADER_ADDRESS="10.77.0.2", GPUS_PER_NODE="2", TENSOR="2", STARTUP_SECONDS="60", GLOO_SOCKET_IFNAME=None)
        .set(TEXT="two\nlines 'and' \"quotes\" $HOME", PATH=f"{trtllm.environment['PATH']}:/usr/sbin:/sbin")
    )


def node(pod: Pod, networks: list[tuple[str, ...]], rank: int) -> Container:
    """Start the container of one rank."""
    return Container(pod, rank, "10.77.0", networks[rank])


@needs_mpi
def test_real_job(job: Pod, networks: list[tuple[str, ...]]) -> None:
    """Ranks fill node by node, each in its own container's environment; arguments arrive; TERM ends it all."""
    job.arguments = tuple(HOSTILE)
    with node(job, networks, 1) as worker, node(job, networks, 0) as leader:
        quoted = r"""$'two\nlines \'and\' "quotes" $HOME'"""
        said = [f"rank {rank} of 4 on node {rank // 2} text={quoted}" for rank in range(4)]
        assert all(leader.says(line) for line in said), leader.log.read_text() + worker.log.read_text()
        assert leader.says("argv ")
        line = next(line for line in leader.log.read_text().splitlines() if line.startswith("argv "))
        argv = json.loads(line.removeprefix("argv "))
        start = argv.index("--speculative-config")

        assert argv[start : start + len(HOSTILE)] == HOSTILE

        leader.process.send_signal(signal.SIGTERM)
        assert 0 != leader.process.wait(15)
        worker.process.send_signal(signal.SIGTERM)
        assert 143 == worker.process.wait(5), worker.log.read_text()


@needs_mpi
def test_real_server_ends(job: Pod, networks: list[tuple[str, ...]]) -> None:
    """When the server ends, so does the leader, and the ranks on the other node."""
    job.arguments = ("--fail",)
    with node(job, networks, 1) as worker, node(job, networks, 0) as leader:
        assert leader.says("trtllm-serve ended with exit code 3"), leader.log.read_text() + worker.log.read_text()
        assert 0 != leader.process.wait(20)
        end = time.monotonic() + 10
        while any(Path(f"/proc/{pid}/comm").read_text() == "sleep\n" for pid in worker.family()):
            assert time.monotonic() < end, worker.log.read_text()
            time.sleep(0.2)


@needs_mpi
def test_real_worker_is_lost(job: Pod, networks: list[tuple[str, ...]]) -> None:
    """When a worker's container goes away, the job on the leader ends within seconds."""
    with node(job, networks, 0) as leader:
        with node(job, networks, 1) as worker:
            assert leader.says("argv "), leader.log.read_text() + worker.log.read_text()

        assert 0 != leader.process.wait(30)


@needs_mpi
def test_real_sshd_is_lost(job: Pod, networks: list[tuple[str, ...]]) -> None:
    """A worker whose ssh server dies ends, non-zero."""
    with node(job, networks, 1) as worker, node(job, networks, 0) as leader:
        assert leader.says("argv "), leader.log.read_text() + worker.log.read_text()
        assert worker.process.poll() is None
        worker.kill("sshd")

        assert 64 == worker.process.wait(10)
        assert "sshd ended" in worker.log.read_text()


@needs_mpi
def test_real_stranger(job: Pod, networks: list[tuple[str, ...]]) -> None:
    """A node with another key takes no part, and gets nothing to see."""
    with node(job, networks, 0) as leader:
        assert leader.says("waiting for MPI nodes: 1 of 2 MPI nodes are there, missing are the ranks 1")
        (job.stubs / "key").unlink()
        with node(with_key(job).set(GLOO_SOCKET_IFNAME=None), networks, 1) as stranger:
            assert 0 != leader.process.wait(60), stranger.log.read_text()
            assert stranger.process.poll() is None
            assert "Host key verification failed" in leader.log.read_text()
            assert "rank 2" not in leader.log.read_text()
