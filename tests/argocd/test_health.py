"""The health scripts say what a group, a queue or an operator is, on status objects as controllers write them.

``health/<Kind>.yaml`` has an object in each state with the health and the message that a person should see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .lua import run
from .states import FLEET, NOW, SCRIPTS, STATES

if TYPE_CHECKING:
    from .states import State


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_an_object_has_the_health_that_it_has(state: State) -> None:
    """The status and the whole message: it is what people see beside a red heart."""
    found = run(SCRIPTS[state.kind], state.item, state.now)

    assert {"status": state.status, "message": state.message} == found


def test_every_script_has_objects_in_more_than_one_state() -> None:
    """A kind that is never anything but Healthy is not tested."""
    states: dict[str, set[str]] = {}
    for state in STATES:
        states.setdefault(state.kind, set()).add(state.status)

    assert set(SCRIPTS) == set(states)
    assert all(len(seen) > 1 for seen in states.values())


def test_what_is_wrongly_green_without_the_scripts_is_listed() -> None:
    """Argo CD counts a kind that it does not know as well: the README has each state that it would hide."""
    readme = (FLEET / "README.md").read_text(encoding="utf-8")
    hidden = {
        f"| {state.kind} | {state.name.partition(': ')[2]} | {state.status} |"
        for state in STATES
        if state.status != "Healthy"
    }

    assert set() == {row for row in hidden if row not in readme}


@pytest.mark.parametrize(
    ("kind", "action", "before", "after"),
    [
        pytest.param(
            "leaderworkerset.x-k8s.io_LeaderWorkerSet",
            "restart",
            {
                "spec": {
                    "leaderWorkerTemplate": {
                        "leaderTemplate": {},
                        "workerTemplate": {"metadata": {"labels": {"a": "b"}}},
                    }
                }
            },
            {
                "spec": {
                    "leaderWorkerTemplate": {
                        "leaderTemplate": {"metadata": {"annotations": {"lockstep/restarted-at": NOW}}},
                        "workerTemplate": {
                            "metadata": {"labels": {"a": "b"}, "annotations": {"lockstep/restarted-at": NOW}}
                        },
                    }
                }
            },
            id="restart",
        ),
        pytest.param(
            "kueue.x-k8s.io_Workload", "evict", {"spec": {"active": True}}, {"spec": {"active": False}}, id="evict"
        ),
        pytest.param(
            "kueue.x-k8s.io_Workload", "admit", {"spec": {"active": False}}, {"spec": {"active": True}}, id="admit"
        ),
    ],
)
def test_an_action_changes_what_it_says(kind: str, action: str, before: Any, after: Any) -> None:
    """And nothing else."""
    assert after == run(FLEET / "actions" / kind / f"{action}.lua", before, NOW)


@pytest.mark.parametrize(
    ("active", "disabled"), [pytest.param(None, "admit", id="runs"), pytest.param(False, "evict", id="is evicted")]
)
def test_only_the_action_that_does_something_is_offered(active: bool | None, disabled: str) -> None:
    """Evicting twice, or admitting what runs, is greyed out."""
    script = FLEET / "actions" / "kueue.x-k8s.io_Workload" / "discovery.lua"
    found = run(script, {"spec": {} if active is None else {"active": active}}, NOW)

    assert {disabled} == {name for name, how in found.items() if how["disabled"]}
