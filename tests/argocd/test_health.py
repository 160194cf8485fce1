"""The health scripts say what a group, a queue or an operator is, on status objects as controllers write them.

``health/<Kind>.yaml`` has an object in each state with the health and the message that a person should see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from .lua import run

FLEET = Path(__file__).parents[2] / "argocd"
FIXTURES = Path(__file__).parent / "health"
SCRIPTS = {
    kind: script
    for script in sorted((FLEET / "health").glob("*.lua"))
    for kind in script.stem.partition("_")[2].split("+")
}
CASES = [
    pytest.param(row, id=f"{file.stem}: {row['id']}")
    for file in sorted(FIXTURES.glob("*.yaml"))
    for row in yaml.safe_load(file.read_text(encoding="utf-8"))
]
NOW = "2026-11-30T04:30:00Z"


@pytest.mark.parametrize("case", CASES)
def test_an_object_has_the_health_that_it_has(case: dict[str, Any]) -> None:
    """The status and the whole message: it is what people see beside a red heart."""
    item = case["object"]

    assert {"status": case["status"], "message": case["message"]} == run(
        SCRIPTS[item["kind"]], item, case.get("now", NOW)
    )


def test_every_script_has_objects_in_more_than_one_state() -> None:
    """A kind that is never anything but Healthy is not tested."""
    states: dict[str, set[str]] = {}
    for parameter in CASES:
        case = parameter.values[0]
        states.setdefault(case["object"]["kind"], set()).add(case["status"])

    assert set(SCRIPTS) == set(states)
    assert all(len(seen) > 1 for seen in states.values())


def test_what_is_wrongly_green_without_the_scripts_is_listed() -> None:
    """Argo CD counts a kind that it does not know as well: the README has each state that it would hide."""
    readme = (FLEET / "README.md").read_text(encoding="utf-8")
    hidden = {
        f"| {parameter.values[0]['object']['kind']} | {parameter.values[0]['id']} | {parameter.values[0]['status']} |"
        for parameter in CASES
        if parameter.values[0]["status"] != "Healthy"
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
