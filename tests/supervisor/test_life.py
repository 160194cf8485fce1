"""A group assembles, serves, restarts as one and drains: the real program, one process per pod.

Every group of these tests runs a fake engine that writes down a second engine of one rank or a mix of
incarnations; the ``make_group`` fixture fails the test that saw one.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

NOTICED = 2.0  # seconds within which an exit is seen


@pytest.mark.parametrize("count", [1, 2], ids=["one-node", "two-nodes"])
def test_starts_serves_and_drains(make_group: Callable[..., Group], count: int) -> None:
    """All ranks get Ready together, and end with code 0 after SIGTERM."""
    group = make_group(count).start()
    group.wait_serving()
    for pod in group.pods.values():
        pod.send(signal.SIGTERM)

    assert [0] * count == [pod.code() for pod in group.pods.values()]
    assert [1] * count == [len(group.starts(rank)) for rank in group.pods]


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "worker"])
def test_engine_exit(make_group: Callable[..., Group], rank: int) -> None:
    """An engine that ends takes the others along, is seen at once, and the group serves again in place."""
    group = make_group().start()
    group.wait_serving()
    engine = group.pods[rank].engine()
    assert engine
    os.kill(engine, signal.SIGKILL)
    noticed = wait_for(lambda: group.leader.state() != "serving", "the exit is seen")
    group.wait_serving()

    assert noticed < NOTICED
    assert group.leader.metric("lockstep_restarts_total", reason="engine-exit") == 1
    assert [2, 2] == [len(group.starts(each)) for each in group.pods]
