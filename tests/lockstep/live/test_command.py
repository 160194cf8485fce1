"""`lockstep check --live` runs kubectl for reading alone, and ends in one sentence when it reaches no cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lockstep.cli import main

REPOSITORY = Path(__file__).parents[3]
VALUES = """
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 8}
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fake kubectl first on PATH; returns the file of its cluster's objects."""
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec env "PYTHONPATH={REPOSITORY}" "{sys.executable}" -m tests.lockstep.live.fake "$@"\n'
    )
    program.chmod(0o755)
    file = tmp_path / "cluster.yaml"
    file.write_text('{kind: Node, metadata: {name: a}, status: {allocatable: {nvidia.com/gpu: "4"}}}')
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("LOCKSTEP_FAKE_CLUSTER", str(file))
    return file


@pytest.fixture
def values(tmp_path: Path) -> Path:
    """Write values of one pod with eight GPUs."""
    file = tmp_path / "qwen.yaml"
    file.write_text(VALUES)
    return file


def test_values_are_compared_and_nothing_is_written(
    cluster: Path, values: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only verbs that read are used; the finding names the Deployment and the numbers."""
    code = main(["check", str(values), "--live", "--output", "json"])

    found = {each["code"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    verbs = {next(word for word in call.split() if not word.startswith("-")) for call in
             cluster.with_suffix(".calls").read_text().splitlines()}  # fmt: skip
    assert 1 == code
    assert ("Deployment/qwen", True) == (found["CLU003"]["path"], "offer 4 nvidia.com/gpu where 8" in
                                         found["CLU003"]["message"])  # fmt: skip
    assert {"get", "api-versions", "api-resources"} == verbs


def test_manifests_are_compared(cluster: Path, values: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of other charts, too."""
    main(["render", str(values)])
    file = cluster.with_name("objects.yaml")
    file.write_text(capsys.readouterr().out)

    main(["check", "--manifests", str(file), "--live"])

    assert "error CLU003 Deployment/qwen" in capsys.readouterr().out


def test_no_cluster_is_one_sentence(
    values: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real kubectl and an address where nobody listens: exit code 2."""
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", str(config))

    assert 2 == main(["check", str(values), "--live"])
    said = capsys.readouterr().err
    assert said.startswith("lockstep: kubectl api-versions: ")
    assert "refused" in said


def test_no_kubectl_is_one_sentence(
    values: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says where it was looked for."""
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    assert 2 == main(["check", str(values), "--live"])
    assert "--live needs kubectl" in capsys.readouterr().err
