"""A hang is seen, and nothing that only looks like one is taken for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from group.vitals import Judge, families

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

STALL = 2.0  # seconds


def watched(make_group: Callable[..., Group]) -> Group:
    """Return a serving group whose engine may be silent for a short time only."""
    group = make_group()
    group.timers["LOCKSTEP_STALL_SECONDS"] = str(STALL)
    group.start()
    group.wait_serving()
    return group


def test_hang(make_group: Callable[..., Group]) -> None:
    """An engine that says it is healthy, but neither completes nor moves, is restarted with its group."""
    group = watched(make_group)
    group.leader.tell("hang")
    noticed = wait_for(lambda: group.leader.state() != "serving", "the hang is seen")
    group.leader.untell("hang")
    group.wait_serving()

    assert STALL < noticed < 1.25 * STALL + 6
    assert group.leader.metric("lockstep_restarts_total", reason="engine-hung") == 1


def test_no_hang(make_group: Callable[..., Group]) -> None:
    """A busy engine, a full queue, a long prefill, a slow token, no completions, no metrics, idleness: no hang."""
    words = ["busy", "full", "prefill", "slow", "unaskable", "blind", "idle"]
    groups = {word: make_group(1) for word in words}  # all at once, for each needs nothing but time
    for word, group in groups.items():
        group.timers["LOCKSTEP_STALL_SECONDS"] = str(STALL)
        if word == "blind":
            group.leader.tell(word)
        group.start()
    for word, group in groups.items():
        group.wait_serving()
        group.leader.tell("full" if word == "blind" else word)
    time.sleep(2.5 * STALL)

    assert dict.fromkeys(words, "serving") == {word: group.leader.state() for word, group in groups.items()}
    assert dict.fromkeys(words, 1) == {word: len(group.starts(0)) for word, group in groups.items()}


def test_busy_engines_are_not_asked(make_group: Callable[..., Group]) -> None:
    """The probe costs nothing while tokens flow, and one token every quarter of stallSeconds while none do."""
    group = watched(make_group)
    group.leader.tell("busy")
    time.sleep(STALL / 2)
    before = group.leader.metric("lockstep_probes_total")
    time.sleep(1.5 * STALL)
    after = group.leader.metric("lockstep_probes_total")
    group.leader.untell("busy")
    wait_for(lambda: (group.leader.metric("lockstep_probes_total") or 0) >= (after or 0) + 2, "idle, it is asked")

    assert before == after


def test_a_frozen_supervisor_has_watched_nothing() -> None:
    """Only watched silence counts, and only after a question."""
    judge = Judge(stall=10)
    judge.watch(9)
    asks, hung = judge.ask(), judge.hung
    judge.asked = True
    judge.watch(9)
    almost = judge.hung
    judge.watch(1)

    assert (True, False, False, True) == (asks, hung, almost, judge.hung)


def test_a_sign_of_life_takes_all_silence_back() -> None:
    """After progress the count begins anew, and waits for the next question."""
    judge = Judge(stall=10)
    judge.asked = True
    judge.watch(9.9)
    judge.alive()
    judge.watch(9.9)

    assert not judge.hung


def test_families_sum_over_labels() -> None:
    """A metric's value is the sum over its labels; comments and other metrics do not count."""
    page = '# HELP a x\na{m="1 }"} 2\na{m="2"} 3 1700000000\nab 9\nb 1e3\nc{x="y"} nonsense\n'

    assert {"a": 5.0, "b": 1000.0} == families(page, ("a", "b", "c"))
