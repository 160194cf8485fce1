"""Who may join a group, who may not and why, and what a group does meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

TOKEN = "LOCKSTEP_GROUP_TOKEN"  # noqa: S105 - a name
OWN_HOSTS = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
PYTHON_39 = next(Path("/").glob("root/.pyenv/versions/3.9.*/bin/python3.9"), None)


def may_have_own_hosts() -> bool:
    """Return whether a process may see another /etc/hosts than this one."""
    try:
        return subprocess.run([*OWN_HOSTS, "mount --bind /etc/hosts /etc/hosts"], check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("late", [0, 1], ids=["leader", "worker"])
def test_slow_joiner(make_group: Callable[..., Group], late: int) -> None:
    """A rank that is there waits, says whom for, fails no liveness probe, and runs no engine yet."""
    group = make_group()
    early = group.pods[1 - late].start()
    said = "missing rank 1" if late else "leader-missing"
    wait_for(lambda: early.text().count(said) >= 2, "it says again whom it waits for")
    waiting = early.probe("live"), early.probe("startup"), early.probe("ready"), early.engine()
    group.pods[late].start()
    group.wait_serving()

    assert (True, False, False, None) == waiting
    assert all(pod.probe("startup") for pod in group.pods.values())


def test_two_pods_of_one_rank(make_group: Callable[..., Group]) -> None:
    """While two living pods claim a rank the group does not start, and says so; it starts when one is gone."""
    group = make_group(3)
    first = group.pods[1]
    second = group.add(1)
    for pod in (group.leader, first, second):
        pod.start()
    wait_for(lambda: group.leader.metric("lockstep_refused", reason="duplicate-rank") == 1, "it is refused")
    group.pods[2].start()
    wait_for(lambda: "reason=rank-refused" in group.leader.text(), "the leader says why it waits")
    started = group.starts(0)
    refused = second if "duplicate-rank" in second.text() else first
    group.pods[1] = first if refused is second else second
    refused.kill()
    group.wait_serving()

    assert [] == started
    assert "both claim rank 1" in refused.text()


@pytest.mark.skipif(
    not may_have_own_hosts(), reason="needs unshare and a mount namespace, to give a name two addresses"
)
def test_two_pods_of_rank_0(make_group: Callable[..., Group]) -> None:
    """A name that stands for two leaders is joined at neither, and the rank says why; when one is gone, it joins."""
    group = make_group()
    first, second, worker = group.leader, group.add(0), group.pods[1]
    hosts = group.folder / "hosts"
    hosts.write_text("".join(f"{pod.ip} leader\n" for pod in (first, second)))
    worker.extra["LOCKSTEP_LEADER_ADDRESS"] = "leader"
    first.start()
    second.start()
    worker.run(
        {},
        *OWN_HOSTS,
        f'mount --bind "{hosts}" /etc/hosts && exec bash "{group.mount}/launch.sh" "$@"',
        "launch",
        *group.arguments,
    )
    wait_for(lambda: "more than one pod claims rank 0" in worker.get("/ready")[1], "the rank notices")
    wait_for(lambda: "missing rank 1" in first.text() and "missing rank 1" in second.text(), "both leaders wait")
    started = group.starts(0)
    second.kill()
    group.pods[0] = first
    hosts.write_text(f"{first.ip} leader\n")
    group.wait_serving()

    assert [] == started
    assert "reason=leader-missing" in worker.text()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"LOCKSTEP_NODE_COUNT": "3"}, "count-differs"),
        ({"FAKE_VERSION": "2.0"}, "version-differs"),
        ({"LOCKSTEP_TENSOR": "4"}, "layout-differs"),
        ({"LOCKSTEP_DEADLINE_SECONDS": "9"}, "layout-differs"),
    ],
    ids=["node-count", "engine-version", "layout", "timers"],
)
def test_a_rank_that_does_not_fit(make_group: Callable[..., Group], environment: dict[str, str], reason: str) -> None:
    """A rank with another idea of the group is refused, with the reason in the log and in the metrics of both."""
    group = make_group()
    pod = group.add(1, **environment)
    group.start()
    wait_for(lambda: group.leader.metric("lockstep_refused", reason=reason) == 1, "the leader's metrics say so")
    wait_for(lambda: pod.metric("lockstep_refused", reason=reason) == 1, "the rank's metrics say so")

    assert f"reason={reason}" in pod.text()
    assert reason in group.leader.get("/ready")[1]
    assert [] == group.starts(0)


@pytest.mark.parametrize(("extra", "ready"), [("--other", True), ("", False)], ids=["rollout", "same"])
def test_a_rollout_goes_on(make_group: Callable[..., Group], extra: str, ready: bool) -> None:
    """A rank that only waits for its leader to be replaced too is Ready, for its stack replaces one pod at a time."""
    group = make_group()
    group.leader.start()
    worker = group.pods[1].start(*group.arguments, *([extra] if extra else []))
    wait_for(lambda: "layout-differs" in worker.text() or worker.state() == "serving", "it has asked")
    outdated = worker.probe("startup") and worker.probe("ready") and not group.leader.probe("ready")
    if extra:
        group.leader.kill()
        group.leader.start(*group.arguments, extra)
    group.wait_serving()

    assert ready == outdated


def test_launch_files_change(make_group: Callable[..., Group]) -> None:
    """A ConfigMap that changes under a running group changes nothing, until a container starts: then all follow."""
    group = make_group(3).start()
    group.wait_serving()
    group.fill_mount("# changed\n")
    time.sleep(2)
    undisturbed = [len(group.starts(rank)) for rank in group.pods]
    group.pods[1].kill()
    group.pods[1].start()
    wait_for(lambda: len(group.starts(2)) == 2, "the group starts again")
    group.wait_serving()

    assert [1, 1, 1] == undisturbed
    assert "starting again with the launch files" in group.leader.text()
    assert [1, 2, 1] == [pod.containers for pod in group.pods.values()]  # the others are not restarted for it


def test_hooks(make_group: Callable[..., Group]) -> None:
    """Hooks run when all ranks are there, once per container, before any engine."""
    group = make_group()
    group.pods[1].tell("hook-waits")
    group.start()
    wait_for(
        lambda: group.leader.state() == "preparing" and (group.pods[1].control / "hooks-ran").exists(), "hooks run"
    )
    started = group.starts(0)
    group.pods[1].untell("hook-waits")
    group.wait_serving()
    engine = group.leader.engine()
    assert engine
    os.kill(engine, 9)
    wait_for(lambda: len(group.starts(1)) == 2, "it restarts")
    group.wait_serving()

    assert [] == started
    assert [1, 1] == [len((pod.control / "hooks-ran").read_text().split()) for pod in group.pods.values()]


def test_hook_that_fails(make_group: Callable[..., Group]) -> None:
    """A hook that fails ends its container with an error, and no engine starts."""
    group = make_group()
    group.pods[1].tell("hook-fails")
    group.start()

    assert 1 == group.pods[1].code()
    assert "reason=hook-failed" in group.pods[1].text()
    assert [] == group.starts(0)


def test_token(make_group: Callable[..., Group]) -> None:
    """With a token a group serves; a rank without the right one is dropped, and learns nothing."""
    group = make_group(**{TOKEN: "right"})
    stranger = group.add(1, **{TOKEN: "wrong"})
    group.start()
    wait_for(
        lambda: (group.leader.metric("lockstep_dropped_total", port="membership", reason="bad-token") or 0) > 0, "it"
    )
    wait_for(lambda: "another token" in stranger.get("/ready")[1], "the stranger can only guess")
    stranger.kill()
    group.add(1).start()
    group.wait_serving()

    assert [] == [word for pod in group.all for word in ("right", "wrong") if word in pod.text().split()]


@pytest.mark.skipif(PYTHON_39 is None, reason="needs python3.9, the oldest Python of an engine image")
def test_oldest_python(make_group: Callable[..., Group]) -> None:
    """It all runs on Python 3.9."""
    group = make_group(python=str(PYTHON_39)).start()
    group.wait_serving()
    group.leader.send(15)

    assert 0 == group.leader.code()


def test_port_in_use(make_group: Callable[..., Group]) -> None:
    """A port that is taken is one clear message, and nothing stays behind."""
    group = make_group(1).start()
    group.wait_serving()
    second = group.add(0)
    second.ip = group.all[0].ip
    second.start()

    assert 64 == second.code()
    assert f"bad-contract: cannot listen on {second.ip} port 7070" in second.text()
    assert "Traceback" not in second.text()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOCKSTEP_DEADLINE_SECONDS", "", "LOCKSTEP_DEADLINE_SECONDS is empty or missing"),
        ("LOCKSTEP_PORT", "http", "LOCKSTEP_PORT is 'http'"),
        ("LOCKSTEP_DEADLINE_SECONDS", "0.3", "at least two heartbeats"),
    ],
    ids=["missing", "no-number", "too-short"],
)
def test_wrong_contract(make_group: Callable[..., Group], name: str, value: str, said: str) -> None:
    """A wrong variable is one message that names it."""
    group = make_group(1)
    pod = group.add(0, **{name: value}).start()

    assert 64 == pod.code()
    assert said in pod.text()
    assert "Traceback" not in pod.text()
