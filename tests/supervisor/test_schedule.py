"""A random schedule of faults on real processes keeps the rules, and the group serves again after each part.

``python -m tests.supervisor.soak faults --steps 500 --seed N`` runs longer ones. A seed that ever failed
is kept here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group


@pytest.mark.parametrize(("count", "steps", "seed"), [(2, 25, 1), (3, 25, 2)], ids=["two-ranks", "three-ranks"])
def test_random_faults(make_group: Callable[..., Group], count: int, steps: int, seed: int) -> None:
    """Fifty steps."""
    group = make_group(count, deadline=1.5).linked()
    group.timers.update(LOCKSTEP_MAX_RESTARTS="1000", LOCKSTEP_STARTUP_SECONDS="20")
    group.start()
    group.wait_serving()
    Schedule(group, seed).run(steps)

    assert group.serving()
