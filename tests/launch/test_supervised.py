"""The supervisor over engines that are several programs: Ray and MPI jobs start, are lost in part, and come back."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .conftest import SUPERVISED
from .containers import Container
from .test_ray import cluster, needs_ray
from .test_trtllm import job, needs_mpi, trtllm

if TYPE_CHECKING:
    from .conftest import Pod

__all__ = ["cluster", "job", "trtllm"]  # fixtures

# An engine's HTTP: everything is well. With Ray it first looks for both nodes.
SERVER = """\
import http.server, os, sys
if sys.argv[1:] == ["--version"]:
    print("1.3.0")
    sys.exit()
if os.environ.get("RAY_ADDRESS"):
    import ray
    ray.init(log_to_driver=False)
    ray.get([ray.remote(lambda: 1).options(resources={f"node:10.77.0.{each}": 0.01}).remote() for each in (2, 3)])
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"a_metric 1\\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *_):
        pass
at = (os.environ["LOCKSTEP_POD_IP"], int(sys.argv[sys.argv.index("--port") + 1]))
print("engine serves", flush=True)
http.server.ThreadingHTTPServer(at, Page).serve_forever()
"""
TIMERS = {**SUPERVISED, "HEARTBEAT_SECONDS": "1", "DEADLINE_SECONDS": "4", "STARTUP_SECONDS": "120"}


def ready(container: Container, limit: float = 120) -> bool:
    """Whether the container's supervisor says Ready within a number of seconds."""
    ask = f"import urllib.request; urllib.request.urlopen('http://{container.address}:7070/ready', timeout=2)"
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if container.run(sys.executable, "-c", ask) == 0:
            return True
        time.sleep(0.5)
    return False


def count(container: Container, name: str) -> int:
    """Return how many processes of this name a container has."""
    return [container.comm(pid) for pid in container.family()].count(name)


@needs_ray
def test_ray_comes_back(cluster: Pod, networks: list[tuple[str, ...]]) -> None:
    """A lost raylet stops the engine on both nodes, and the group serves again with a new cluster."""
    ray = shutil.which("ray")
    assert ray is not None
    cluster.stub("vllm", SERVER, str(Path(ray).parent / "python3"))
    cluster.set(**TIMERS, LEADER_ADDRESS="10.77.0.2")
    with (
        Container(cluster, 1, "10.77.0", networks[1]) as worker,
        Container(cluster, 0, "10.77.0", networks[0]) as leader,
    ):
        logs = [worker.log, leader.log]
        assert ready(leader), [log.read_text() for log in logs]
        worker.kill("raylet")
        assert leader.says("engine serves", times=2), [log.read_text() for log in logs]
        assert ready(leader), [log.read_text() for log in logs]
        assert [1, 1] == [count(leader, "raylet"), count(worker, "raylet")]


@needs_mpi
@pytest.mark.parametrize(("rank", "program"), [(1, "sshd"), (1, "sleep"), (0, "mpirun"), (0, "trtllm-serve")])
def test_mpi_comes_back(job: Pod, networks: list[tuple[str, ...]], rank: int, program: str) -> None:
    """Whatever part of the job is lost, all of it ends and the group serves again."""
    job.stub("trtllm-serve", SERVER, sys.executable)
    job.set(**TIMERS)
    with Container(job, 1, "10.77.0", networks[1]) as worker, Container(job, 0, "10.77.0", networks[0]) as leader:
        logs = [worker.log, leader.log]
        assert ready(leader), [log.read_text() for log in logs]
        [leader, worker][rank].kill(program)
        assert leader.says("engine serves", times=2), [log.read_text() for log in logs]
        assert ready(leader), [log.read_text() for log in logs]
        assert [1, 2] == [count(leader, "mpirun"), count(worker, "sleep")]
