"""Every fault of a running group: it is seen in time, the group serves again, and no rule is broken.

The real program, one process per pod, on two and on eight ranks. A fake engine writes down a second
engine of one rank and a mix of incarnations; the ``make_group`` fixture fails the test that saw one.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

NOTICED = 2.0  # seconds within which an exit is seen
DEADLINE = 2.0  # seconds, the deadline of these groups
SLACK = 4.0  # seconds a crowded machine may add

Fault = "Callable[[Group], None]"


def kill_engine(group: Group, rank: int) -> None:
    """Kill an engine's main process."""
    engine = group.pods[rank].engine()
    assert engine
    os.kill(engine, signal.SIGKILL)


def worker_engine_exits(group: Group) -> None:
    """Kill the last rank's engine."""
    kill_engine(group, group.count - 1)


def leader_engine_exits(group: Group) -> None:
    """Kill the leader's engine."""
    kill_engine(group, 0)


def worker_engine_quits(group: Group) -> None:
    """Let a worker's engine end by itself, with exit code 0."""
    group.pods[1].tell("quit")
    wait_for(lambda: "exit code 0" in group.pods[1].text(), "the engine quits")
    group.pods[1].untell("quit")


def worker_container_restarts(group: Group) -> None:
    """Kill a worker's supervisor, and with it the container; kubelet starts the next."""
    group.pods[1].kill()
    group.pods[1].start()


def leader_container_restarts(group: Group) -> None:
    """Do the same at the leader."""
    group.leader.kill()
    group.leader.start()


def worker_pod_replaced(group: Group) -> None:
    """Lose a worker's pod, and make a new one."""
    group.pods[1].kill()
    group.add(1).start()


def leader_pod_replaced(group: Group) -> None:
    """Lose the leader's pod, and make a new one with another address."""
    group.leader.kill()
    group.add(0).start()


EXITS = [
    worker_engine_exits,
    leader_engine_exits,
    worker_engine_quits,
    worker_container_restarts,
    leader_container_restarts,
    worker_pod_replaced,
    leader_pod_replaced,
]


@pytest.mark.parametrize("fault", EXITS, ids=lambda fault: fault.__name__)
def test_end_of_a_process(make_group: Callable[..., Group], fault: Callable[[Group], None]) -> None:
    """The end of a process is seen by all within two seconds; the group serves again, its neighbour never stopped."""
    group, other = make_group().linked().start(), make_group().start()
    group.wait_serving()
    other.wait_serving()
    before = list(group.pods.values())
    fault(group)
    survivors = [pod for pod in before if pod in group.pods.values() and pod.containers == 1]
    noticed = wait_for(lambda: not any(pod.state() == "serving" for pod in survivors), "the fault is seen")
    group.wait_serving()

    assert noticed < NOTICED + SLACK / 2
    assert all(len(group.starts(rank)) >= 2 for rank in group.pods)
    assert [1, 1] == [len(other.starts(rank)) for rank in other.pods]


@pytest.mark.parametrize("fault", [EXITS[0], EXITS[3], EXITS[6]], ids=lambda fault: fault.__name__)
def test_end_of_a_process_among_eight(make_group: Callable[..., Group], fault: Callable[[Group], None]) -> None:
    """Eight ranks restart as one too."""
    group = make_group(8).linked().start()
    group.wait_serving()
    fault(group)
    group.wait_serving()

    assert [2] * 8 == [len(group.starts(rank)) for rank in range(8)]


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "worker"])
def test_frozen_rank(make_group: Callable[..., Group], rank: int) -> None:
    """A frozen rank is silent: the others stop within the deadline, and all serve again once it thaws."""
    group = make_group().linked().start()
    group.wait_serving()
    group.pods[rank].freeze()
    other = group.pods[1 - rank]
    noticed = wait_for(lambda: other.state() != "serving", "the silence is noticed")
    group.pods[rank].freeze(signal.SIGCONT)
    group.wait_serving()

    assert DEADLINE / 2 < noticed < DEADLINE + SLACK
    assert other.metric("lockstep_engine_stops_total", reason="rank-silent" if rank else "leader-silent")


def test_short_silence(make_group: Callable[..., Group]) -> None:
    """A rank that is silent for less than the deadline is no fault."""
    group = make_group(deadline=8).linked().start()
    group.wait_serving()
    for rank in (0, 1):
        group.pods[rank].freeze()
        time.sleep(1)
        group.pods[rank].freeze(signal.SIGCONT)
    group.wait_serving()

    assert [1, 1] == [len(group.starts(each)) for each in group.pods]


@pytest.mark.parametrize("count", [2, 8])
def test_network_cut(make_group: Callable[..., Group], count: int) -> None:
    """A rank that is cut off kills its own engine by the deadline; healed, the group serves again."""
    group = make_group(count).linked().start()
    group.wait_serving()
    lonely = group.pods[1]
    group.links[1].cut = True
    noticed = wait_for(lambda: lonely.engine() is None, "the lonely engine is killed")
    wait_for(lambda: group.leader.state() != "serving", "the leader notices")
    group.links[1].cut = False
    group.wait_serving()

    assert DEADLINE / 2 < noticed < DEADLINE + SLACK
    assert lonely.metric("lockstep_engine_stops_total", reason="leader-silent") == 1


def test_cut_off_and_replaced(make_group: Callable[..., Group]) -> None:
    """The successor of a cut-off rank waits until its predecessor's engine cannot live any more."""
    group = make_group().linked().start()
    group.wait_serving()
    old, link = group.pods[1], group.links[1]
    assert group.net
    group.links[1] = group.net.link(group.new_address(), lambda: group.leader.ip)
    link.cut = True
    group.add(1).start()
    group.wait_serving()

    assert old.engine() is None
    assert "reason=fence" in group.leader.text() + old.text()


def test_slow_network(make_group: Callable[..., Group]) -> None:
    """Messages that come late, but within the deadline, are no fault."""
    group = make_group(deadline=4).linked().start()
    group.wait_serving()
    group.links[1].delay = 0.4
    time.sleep(3)

    assert group.serving()
    assert [1, 1] == [len(group.starts(each)) for each in group.pods]


def test_unhealthy_engine(make_group: Callable[..., Group]) -> None:
    """An engine whose health page says no is restarted, with all of its group."""
    group = make_group().start()
    group.wait_serving()
    group.leader.tell("unhealthy")
    wait_for(lambda: group.leader.state() != "serving", "it is seen")
    group.leader.untell("unhealthy")
    group.wait_serving()

    assert group.leader.metric("lockstep_restarts_total", reason="engine-unhealthy") == 1


@pytest.mark.parametrize(
    ("word", "reason"),
    [("no-command", "launch-failed"), ("never", "start-timeout")],
    ids=["no-command", "never-serves"],
)
def test_gives_up(make_group: Callable[..., Group], word: str, reason: str) -> None:
    """A group that cannot start tries maxRestarts times more, and then every pod ends with an error."""
    group = make_group()
    group.timers.update(LOCKSTEP_MAX_RESTARTS="2", LOCKSTEP_STARTUP_SECONDS="2")
    group.leader.tell(word)
    group.start()

    assert [1, 1] == [pod.code() for pod in group.pods.values()]
    assert group.leader.text().count(f"reason={reason}") >= 3
    assert "reason=gave-up" in group.leader.text()


def test_nothing_is_left_behind(make_group: Callable[..., Group]) -> None:
    """After a restart no process of the old engine lives, not even one that hid in a session of its own."""
    group = make_group().start()
    group.wait_serving()
    old = {process for pod in group.pods.values() for process in pod.everything()} - {
        pod.process.pid for pod in group.pods.values() if pod.process
    }
    kill_engine(group, 1)
    group.wait_serving()
    left = old & {process for pod in group.pods.values() for process in pod.everything()}

    assert set() == left
