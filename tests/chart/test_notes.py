"""What helm prints after an install, and when values are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from lockstep import helm

from .rendering import CHART, ONE_NODE, Object, refusal, values

if TYPE_CHECKING:
    from pathlib import Path


def notes(folder: Path, changes: Object) -> str:
    """Return the notes of a dry run."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values(changes)))
    printed = helm.run(["install", "r1", CHART, "--namespace", "serving", "--dry-run=client", "--values", file])
    return printed.partition("\nNOTES:\n")[2]


def test_the_notes_say_what_runs_and_how_to_use_it(tmp_path: Path) -> None:
    """The layout, how to watch, how to ask: with the names of this release."""
    said = notes(tmp_path, {"model": {"servedName": "r1-chat"}, "service": {"port": 80}})

    assert "r1-chat on vllm 0.33.0: 1 x 2 nodes x 8 GPUs, tensor 8 x pipeline 2, run by lws." in said
    assert "kubectl -n serving get pods -l lockstep/release=r1 -w" in said
    assert "kubectl -n serving port-forward service/r1-api 80" in said
    assert '"model": "r1-chat"' in said


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param({"OPS010", "OPS011"}, {}, id="five-lines"),
        pytest.param(
            set(),
            {"replicas": 2, "weights": {"source": "pvc", "claim": "a"}, **ONE_NODE},
            id="nothing",
        ),
        pytest.param({"STK007"}, {"replicas": 2, "weights": {"source": "pvc", "claim": "a"}}, id="no-gang"),
        pytest.param(
            {"SEC002"}, {"replicas": 2, "weights": {"source": "hostPath", "path": "/a"}, **ONE_NODE}, id="host-path"
        ),
        pytest.param({"SEC001", "OPS010", "OPS011"}, {"network": {"rdma": {"resource": "a/b", "count": 1}}}, id="rdma"),
        pytest.param(
            {"PAR010", "OPS011"},
            {
                "parallelism": {"tensor": 16, "pipeline": 1},
                "pod": {"volumes": {"cache": {"hostPath": {"path": "/mnt"}}}},
            },
            id="tensor-across-nodes-and-a-kept-cache",
        ),
    ],
)
def test_warnings(tmp_path: Path, expected: set[str], changes: Object) -> None:
    """What works but costs something is said, and nothing else."""
    _, _, warnings = notes(tmp_path, changes).partition("Warnings")

    assert expected == {line.split()[0] for line in warnings.splitlines()[1:] if line.strip()}


def test_all_faults_are_told_at_once() -> None:
    """One round for the user, not one for each fault; each with numbers and the change."""
    message = refusal(
        values(
            {
                "parallelism": {"pipeline": 3},
                "engine": {"version": "0.11.0", "env": {"VLLM_PORT": 8000}},
                "rollout": {"maxUnavailable": 0},
            }
        ),
        name="1abc",
    )

    assert "these values are refused (5)" in message
    for fault in (
        "PAR001 parallelism needs tensor 8 x pipeline 3 = 24 GPUs, but group has 2 nodes x 8 gpusPerNode = 16; "
        "set parallelism to tensor: 8, pipeline: 2, or group.nodes: 3",
        "ENG003 engine.version is 0.11.0 and group.nodes 2, but Lockstep spans nodes with vllm only from 0.11.1 on",
        "ENG002 engine.env.VLLM_PORT is not for the values to set",
        'STK002 name "1abc" is not possible',
        "STK003 rollout: with replicas 1, maxUnavailable 0 and maxSurge 0",
    ):
        assert fault in message
