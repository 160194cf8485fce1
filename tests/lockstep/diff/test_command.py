"""lockstep diff says what a change restarts, in which order and with how many spare GPUs, on each stack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lockstep.cli import main
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, Any] = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
    "replicas": 4,
}
ARGUMENTS = {"engine": {"args": {"max-model-len": 1024}}}
LARGER = {"group": {"nodes": 4}}
KUEUE = {"queue": {"manager": "kueue"}}
ON_KUEUE = {"stack": {"name": "kueue"}}
ON_GROVE = {"stack": {"name": "grove"}}


def said(folder: Path, capsys: pytest.CaptureFixture[str], before: dict[str, Any], *changes: dict[str, Any]) -> str:
    """Run the command on values before and after changes."""
    files = [folder / "model.yaml", folder / "after.yaml"]
    for file, layers in zip(files, ([BASE, before], [BASE, before, *changes]), strict=True):
        file.write_text(json.dumps(stack(layers)), encoding="utf-8")
    assert 0 == main(["diff", *map(str, files)])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("expected", "before", "change"),
    [
        pytest.param(
            ["LeaderWorkerSet model: every group restarts once", "highest number down", "1 missing", "0 spare GPUs"],
            {},
            ARGUMENTS,
            id="lws",
        ),
        pytest.param(
            ["at most 0 missing at a time, 16 spare GPUs"],
            {"rollout": {"maxUnavailable": 0, "maxSurge": "25%"}},
            ARGUMENTS,
            id="lws with a surge",
        ),
        pytest.param(["every group restarts once"], {}, LARGER, id="size on lws"),
        pytest.param(["4 groups become 6: 2 added, which takes 32 GPUs"], {}, {"replicas": 6}, id="more groups"),
        pytest.param(["4 groups become 1: 3 removed, which frees 48"], {}, {"replicas": 1}, id="fewer groups"),
        pytest.param(["every group restarts once"], KUEUE, ARGUMENTS, id="lws under kueue"),
        pytest.param(["frozen", "all groups stop together"], KUEUE, LARGER, id="size under kueue"),
        pytest.param(["frozen", "StatefulSet model-0-", "all groups stop together"], ON_KUEUE, ARGUMENTS, id="kueue"),
        pytest.param(
            ["StatefulSet model-4-", "made. Other groups go on"], ON_KUEUE, {"replicas": 5}, id="kueue scaled"
        ),
        pytest.param(["lowest number up", "do not go back"], ON_GROVE, ARGUMENTS, id="grove"),
        pytest.param(["PodCliqueSet model-n2: removed", "model-n4 made"], ON_GROVE, LARGER, id="size on grove"),
        pytest.param(
            ["No group restarts", "Service model-api: changed in place"], {}, {"service": {"port": 80}}, id="port"
        ),
    ],
)
def test_a_change_is_told(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    expected: list[str],
    before: dict[str, Any],
    change: dict[str, Any],
) -> None:
    """Each fragment is in what the command prints."""
    text = said(tmp_path, capsys, before, change)

    assert [] == [fragment for fragment in expected if fragment not in text], text


@pytest.mark.parametrize("on", [{}, ON_KUEUE, ON_GROVE], ids=["lws", "kueue", "grove"])
def test_no_change_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], on: dict[str, Any]) -> None:
    """Nothing restarts and nothing is named."""
    assert "No group restarts.\n" == said(tmp_path, capsys, on)


def test_two_files_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How it is and how it will be."""
    file = tmp_path / "a.yaml"
    file.write_text(json.dumps(BASE), encoding="utf-8")

    assert 2 == main(["diff", str(file)])
    assert "diff takes two values files" in capsys.readouterr().err
