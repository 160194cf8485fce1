"""A worker finds its leader however late it comes, and gives up only when a start may last no longer."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Pod


def master(command: list[str]) -> str:
    """Return the address that a rank is told to meet at."""
    return command[command.index("--master-addr") + 1]


def test_name_that_comes_late(worker: Pod) -> None:
    """Five failed lookups are waited out, with progress."""
    ended = worker.set(STUB_MISSES="5", STUB_ADDRESS="10.0.0.9").run("engine")

    assert 0 == ended.code
    assert "10.0.0.9" == master(ended.command)
    assert "waiting for the leader: llama-0.llama.models does not resolve yet (0 of 5400 s)" in ended.stderr


def test_name_that_never_comes(worker: Pod) -> None:
    """The wait ends with startup.seconds, non-zero, and says what to look at."""
    began = time.monotonic()
    ended = worker.set(STUB_MISSES="100000", STARTUP_SECONDS="6").run("engine")

    assert 64 == ended.code
    assert "did not resolve in 6 s (startup.seconds)" in ended.stderr
    assert 5 < time.monotonic() - began < 20
    assert "" == ended.stdout


def test_leader_asks_nobody(pod: Pod) -> None:
    """Rank 0 meets the others at its own address, without a lookup."""
    ended = pod.run("engine")

    assert "127.0.0.2" == master(ended.command)
    assert not (pod.stubs / "lookups").exists()


@pytest.mark.parametrize("address", ["10.0.0.9", "fd00::9"], ids=["ipv4", "ipv6"])
def test_address_in_place_of_a_name(worker: Pod, address: str) -> None:
    """An address is taken as it is, without brackets and without a reverse lookup."""
    ended = worker.set(LEADER_ADDRESS=address).run("engine")

    assert address == master(ended.command)
    assert not (worker.stubs / "lookups").exists()


def test_family_of_the_pod(worker: Pod) -> None:
    """A pod with an IPv6 address asks for the leader's IPv6 address; a mapped IPv4 one is none."""
    worker.stub("getent", 'echo "$1" >>"$STUBS/lookups"\necho "::ffff:10.0.0.9 STREAM"\necho "fd00::9 STREAM"\n')

    ended = worker.set(POD_IP="::1").run("engine")

    assert "fd00::9" == master(ended.command)
    assert (worker.stubs / "lookups").read_text() == "ahostsv6\n"


def test_real_name_service(worker: Pod) -> None:
    """The system's own getent resolves a name."""
    (worker.stubs / "getent").unlink()

    assert "127.0.0.1" == master(worker.set(LEADER_ADDRESS="localhost").run("engine").command)


def test_alive_follows_the_leader(worker: Pod) -> None:
    """A worker is alive while the port on which the ranks meet answers."""
    with socket.create_server(("127.0.0.2", 0)) as leader:
        worker.set(MASTER_PORT=str(leader.getsockname()[1]))
        answered = worker.run("alive")
    refused = worker.run("alive")

    assert 0 == answered.code
    assert 1 == refused.code
    assert "the leader does not answer on 127.0.0.2 port" in refused.stderr


def test_alive_asks_once(worker: Pod) -> None:
    """Kubelet counts the failures, so a name that does not resolve fails at once."""
    ended = worker.set(STUB_MISSES="100000").run("alive", timeout=10)

    assert 64 == ended.code
    assert "llama-0.llama.models does not resolve" in ended.stderr


def test_a_worker_outlasts_its_leader(worker: Pod) -> None:
    """Its preStop returns when the leader's HTTP port answers no more."""
    with socket.create_server(("127.0.0.2", 0)) as leader:
        worker.set(PORT=str(leader.getsockname()[1]))
        waiting = subprocess.Popen(worker.command("outlast"), env=worker.environment, stderr=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(2)
    _, said = waiting.communicate(timeout=10)

    assert 0 == waiting.returncode, said


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"PROPAGATION_SECONDS": "1", "DRAIN_SECONDS": "1"}, id="leader-that-drains-for-ever"),
        pytest.param({"STUB_MISSES": "100000"}, id="leader-without-a-name"),
    ],
)
def test_no_worker_outlasts_the_drain(worker: Pod, changes: dict[str, str]) -> None:
    """Nor one that has no leader any more."""
    with socket.create_server(("127.0.0.2", 0)) as leader:
        ended = worker.set(PORT=str(leader.getsockname()[1]), **changes).run("outlast", timeout=10)

    assert 0 == ended.code


def test_worker_waits_for_the_leaders_engine(worker: Pod) -> None:
    """Without a supervisor a worker's engine starts only when the leader's engine is there."""
    with socket.create_server(("127.0.0.2", 0)) as free:
        port = free.getsockname()[1]
    started = subprocess.Popen(
        worker.set(MASTER_PORT=str(port)).command(), env=worker.environment, stdout=subprocess.PIPE, text=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        started.wait(1)
    with socket.create_server(("127.0.0.2", port)):
        out, _ = started.communicate(timeout=10)

    assert 0 == started.returncode
    assert '"--headless"' in out


def test_leaders_engine_that_never_comes(worker: Pod) -> None:
    """That wait is bounded by startup.seconds as well."""
    ended = worker.set(STARTUP_SECONDS="1", MASTER_PORT="1").run()

    assert 64 == ended.code
    assert "the leader's engine did not open port 1 in 1 s" in ended.stderr


def test_term_ends_the_wait(worker: Pod) -> None:
    """TERM while waiting is obeyed at once and no engine starts."""
    waiting = subprocess.Popen(
        worker.set(STUB_MISSES="100000").command(),
        env=worker.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    while "waiting for the leader" not in waiting.stderr.readline():
        pass
    waiting.send_signal(signal.SIGTERM)
    out, _ = waiting.communicate(timeout=5)

    assert 143 == waiting.returncode
    assert "" == out
