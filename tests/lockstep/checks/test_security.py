"""Proves that whatever belongs to the node is named, with the level its namespace needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lockstep import share
from lockstep.checks.security import node_rights
from lockstep.inputs import Input
from lockstep.release import build
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, Any] = {
    "model": {"id": "a/b"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
}


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        ([], {}),
        (["network.hostNetwork"], {"network": {"hostNetwork": True}}),
        ([], {"network": {"hostNetwork": False}}),
        (["security.container.privileged"], {"security": {"container": {"privileged": True}}}),
        ([], {"security": {"container": {"privileged": False}}}),
        (["worker.volumes.cache"], {"worker": {"volumes": {"cache": {"hostPath": {"path": "/mnt"}}}}}),
        ([], {"pod": {"volumes": {"cache": {"emptyDir": {}}}}}),
        (
            ["network.hostNetwork", "pod.volumes.dev"],
            {"network": {"hostNetwork": True}, "pod": {"volumes": {"dev": {"hostPath": {"path": "/dev"}}}}},
        ),
    ],
)
def test_what_belongs_to_the_node(tmp_path: Path, expected: list[str], values: dict[str, Any]) -> None:
    """One finding for each thing, at its key."""
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(stack([BASE, values])), encoding="utf-8")
    release = Input(file, (), share.folder("charts") / "serving", "demo", "default")
    findings = list(node_rights(build(release, release.values())))

    assert expected == [finding.path for finding in findings]
    assert {("SEC003", True)} >= {(finding.code, "privileged" in finding.message) for finding in findings}
