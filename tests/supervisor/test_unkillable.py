"""A process that outlives SIGKILL (stuck in a driver) ends its container: only that frees its devices.

No user can make such a process, so SIGKILL does nothing in the pods that ask for it: the one line which
sends signals is replaced, in the launch files of all ranks alike. All else is the real program.
"""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

UNKILLABLE = """

def _signal(process: int, number: int) -> None:
    if number != signal.SIGKILL or "FAKE_UNKILLABLE" not in os.environ:
        os.kill(process, number)
"""


def stuck(group: Group, rank: int) -> Group:
    """Make the processes of a rank unkillable."""
    processes = group.mount / "group" / "processes.py"
    processes.write_text(processes.read_text() + UNKILLABLE)
    group.pods[rank].extra["FAKE_UNKILLABLE"] = "true"
    return group


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "worker"])
def test_engine(make_group: Callable[..., Group], rank: int) -> None:
    """Its container ends with an error that names it; until then no new engine starts, and then the group serves."""
    group = stuck(make_group(), rank).start()
    group.wait_serving()
    pod, other = group.pods[rank], group.pods[1 - rank]
    engine = other.engine()
    assert engine
    os.kill(engine, signal.SIGKILL)
    assert pod.process
    code = pod.process.wait(60)
    outlived, starts = pod.engine(), [len(group.starts(each)) for each in (0, 1)]
    pod.kill()  # the end of the container
    del pod.extra["FAKE_UNKILLABLE"]
    pod.start()
    group.wait_serving()

    assert 1 == code
    assert outlived
    assert [1, 1] == starts
    assert re.search(
        rf"reason=unkillable: still there after SIGKILL: process .*\b{outlived} \([^,]+, state \w\)", pod.text()
    )
    assert "state=failed reason=unkillable" in pod.text()


def test_drain(make_group: Callable[..., Group]) -> None:
    """A drain that leaves such a process behind is no success."""
    group = stuck(make_group(1, deadline=1), 0)
    group.leader.tell("stubborn")
    group.start()
    group.wait_serving()
    group.leader.send(signal.SIGTERM)

    assert 1 == group.leader.code()
    assert "state=failed reason=unkillable" in group.leader.text()


def test_hook(make_group: Callable[..., Group]) -> None:
    """Neither is the end of a container whose hook cannot be killed."""
    group = stuck(make_group(1, deadline=1), 0)
    group.leader.tell("hook-waits")
    group.start()
    wait_for(lambda: (group.leader.control / "hooks-ran").exists(), "the hook runs")
    group.leader.send(signal.SIGTERM)

    assert 1 == group.leader.code()
    assert "state=failed reason=unkillable" in group.leader.text()
