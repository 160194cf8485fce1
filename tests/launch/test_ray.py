"""The Ray executor: a cluster of all nodes before the engine starts, with a stub Ray and with the real one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Ended, Pod
from .containers import Container

# A Ray that knows as many nodes as the file `nodes` says, one line per question.
RAY_MODULE = """\
import os, pathlib
asked = pathlib.Path(os.environ["STUBS"], "asked")
def init(**options):
    print("address", os.environ["RAY_ADDRESS"], file=asked.with_name("log").open("a"))
def nodes():
    answers = os.environ["STUB_NODES"].split()
    at = int(asked.read_text()) if asked.exists() else 0
    asked.write_text(str(at + 1))
    alive = int(answers[min(at, len(answers) - 1)])
    return [{"Alive": True}] * alive + [{"Alive": False}] * 3
"""
RAY_COMMAND = """\
import os, sys
with open(os.environ["STUBS"] + "/log", "a") as log:
    log.write(" ".join(sys.argv[1:]) + " token=" + os.environ.get("RAY_AUTH_TOKEN", "") + "\\n")
if "--block" in sys.argv:
    sys.exit(5)
"""


@pytest.fixture
def stubbed(pod: Pod) -> Pod:
    """Return a leader whose image has a stub Ray."""
    (pod.stubs / "ray.py").write_text(RAY_MODULE)
    pod.stub("ray", RAY_COMMAND, sys.executable)
    return pod.set(EXECUTOR="ray", PYTHONPATH=str(pod.stubs))


def log(pod: Pod) -> list[str]:
    """Return what the stub Ray was told."""
    path = pod.stubs / "log"
    return path.read_text().splitlines() if path.exists() else []


def test_leader_waits_for_all_nodes(stubbed: Pod) -> None:
    """The engine starts after the second node has joined, as the same process, without mp's flags."""
    with subprocess.Popen(
        stubbed.set(STUB_NODES="1 1 2").command("--seed", "1"),
        env=stubbed.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        out, err = started.communicate(timeout=20)
    engine = Ended(started.returncode, out, err).engine
    argv = engine["argv"]
    assert isinstance(argv, list)

    assert started.pid == engine["pid"]
    assert ["--distributed-executor-backend", "ray"] == argv[-2:]
    assert "--nnodes" not in argv
    assert "--seed" in argv
    assert "waiting for the Ray cluster: 1 of 2 nodes have joined" in err
    assert log(stubbed) == [
        "start --head --node-ip-address 127.0.0.2 --disable-usage-stats --port 29501 --include-dashboard=false token=",
        "address 127.0.0.2:29501",
    ]


def test_more_nodes_than_wanted(stubbed: Pod) -> None:
    """A node that came back may be listed twice: more than all is all."""
    assert 0 == stubbed.set(STUB_NODES="3").run().code


def test_node_that_never_joins(stubbed: Pod) -> None:
    """The wait is bounded and says how many are there."""
    ended = stubbed.set(STUB_NODES="1", STARTUP_SECONDS="1").run()

    assert 1 == ended.code
    assert "1 of 2 nodes joined the Ray cluster in 1 s" in ended.stderr
    assert ended.stdout == ""


def test_worker_joins(stubbed: Pod) -> None:
    """A worker waits for the leader's port, joins with its own address and ends as its part of Ray does."""
    with socket.create_server(("127.0.0.2", 0)) as leader:
        port = leader.getsockname()[1]
        ended = stubbed.set(NODE_RANK="1", POD_IP="127.0.0.3", MASTER_PORT=str(port)).run()

    assert 5 == ended.code
    assert log(stubbed) == [
        f"start --address 127.0.0.2:{port} --node-ip-address 127.0.0.3 --disable-usage-stats --block token="
    ]


def test_worker_without_a_leader(stubbed: Pod) -> None:
    """A leader that never comes ends the wait, and Ray is not started."""
    command = stubbed.set(NODE_RANK="1", MASTER_PORT="1", STARTUP_SECONDS="1").run("engine").command
    done = subprocess.run(command, env=stubbed.environment, capture_output=True, timeout=30, check=False)

    assert 64 == done.returncode
    assert [] == log(stubbed)


def test_token(stubbed: Pod) -> None:
    """A group with a token gives it to Ray, which else takes anybody."""
    words = {"GROUP_TOKEN": "open sesame"}
    stubbed.set(STUB_NODES="2", **words).run()

    assert log(stubbed)[0].endswith("token=open sesame")


@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
def test_image_without_ray(pod: Pod, rank: str) -> None:
    """The message names the release that Ray left the image with, and the way out."""
    pod.environment["PATH"] = f"{pod.stubs}:{os.defpath}"
    command = pod.set(EXECUTOR="ray", NODE_RANK=rank).run("engine").command
    done = subprocess.run(command, env=pod.environment, capture_output=True, text=True, timeout=10, check=False)

    assert 64 == done.returncode
    assert "there is no 'ray' in this image: vLLM's images carry it up to 0.17.1" in done.stderr


def test_data_parallel_needs_mp(stubbed: Pod) -> None:
    """Data parallel groups are refused under Ray."""
    ended = stubbed.set(DATA="2", PIPELINE="1").run("engine")

    assert 64 == ended.code
    assert "engine.executor is ray, but parallelism.data is 2" in ended.stderr


def test_ray_on_one_node(stubbed: Pod) -> None:
    """The executor of the values is used on one node too."""
    command = stubbed.set(NODE_COUNT="1", PIPELINE="1").run("engine").command

    assert ["--distributed-executor-backend", "ray"] == command[-2:]


def test_old_version_with_ray(stubbed: Pod) -> None:
    """Ray spans nodes in versions that mp does not."""
    assert 0 == stubbed.set(STUB_VERSION="0.10.2").run("engine").code


RAY = shutil.which("ray")
needs_ray = pytest.mark.skipif(RAY is None, reason="needs Ray on PATH (pip install ray)")

# Stands for vLLM: runs one task on every node of the cluster that it was given.
DRIVER = """\
import signal, sys
if sys.argv[1:] == ["--version"]:
    print("0.32.0")
    sys.exit()
import ray
ray.init(log_to_driver=False)
addresses = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
where = ray.remote(lambda: ray.util.get_node_ip_address())
seen = [ray.get(where.options(resources={f"node:{each}": 0.01}).remote()) for each in addresses]
print("seen", *sorted(seen), flush=True)
signal.pause()
"""


@pytest.fixture
def cluster(pod: Pod) -> Pod:
    """Return a leader with the real Ray; sockets of Ray need a short folder."""
    assert RAY is not None
    pod.stub("vllm", DRIVER, str(Path(RAY).parent / "python3"))
    with socket.create_server(("127.0.0.2", 0)) as free:
        port = free.getsockname()[1]
    short = Path("/tmp") / f"ray-{os.getpid()}"
    shutil.rmtree(short, ignore_errors=True)
    short.mkdir()
    return pod.set(
        PATH=f"{pod.stubs}:{Path(RAY).parent}:{os.defpath}",
        EXECUTOR="ray",
        LEADER_ADDRESS="127.0.0.2",
        MASTER_PORT=str(port),
        STARTUP_SECONDS="120",
        RAY_TMPDIR=str(short),
    )


@needs_ray
def test_real_cluster(cluster: Pod) -> None:
    """Two nodes, the worker first: the engine's tasks reach both; TERM ends a worker at once."""
    with Container(cluster, 1) as worker, Container(cluster, 0) as leader:
        assert leader.says("seen 127.0.0.2 127.0.0.3"), leader.log.read_text() + worker.log.read_text()
        assert "waiting for the leader: 127.0.0.2 does not answer" in worker.log.read_text()
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(15) is not None


@needs_ray
def test_real_worker_loses_its_part(cluster: Pod) -> None:
    """A worker whose raylet dies ends, non-zero, within seconds."""
    words = {"GROUP_TOKEN": "0123456789abcdef" * 2}
    with Container(cluster.set(**words), 1) as worker, Container(cluster, 0) as leader:
        assert leader.says("seen 127.0.0.2 127.0.0.3"), leader.log.read_text() + worker.log.read_text()
        worker.kill("raylet")

        assert 0 != worker.process.wait(15)


@needs_ray
def test_real_token(cluster: Pod) -> None:
    """A node without the group's token does not join."""
    right, wrong = {"GROUP_TOKEN": "0123456789abcdef" * 2}, {"GROUP_TOKEN": "f" * 32}
    with Container(cluster.set(**right), 0) as leader, Container(cluster.set(**wrong), 1) as stranger:
        assert 0 != stranger.process.wait(60)
        assert "authentication" in stranger.log.read_text().lower()
        assert leader.says("waiting for the Ray cluster: 1 of 2 nodes have joined")
