"""Rendering goes through Helm with the flags that Argo CD uses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.errors import RenderError, UsageError, ValuesError
from lockstep.inputs import Input
from lockstep.render import manifests, objects

if TYPE_CHECKING:
    from pathlib import Path

CHART = share.folder("charts") / "serving"
RIGHT = """\
model: {id: deepseek-ai/DeepSeek-R1}
engine: {name: vllm}
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 8}
"""


def given(folder: Path, text: str = RIGHT, name: str = "demo", file: str = "demo.yaml") -> Input:
    """Write a values file and name its release."""
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return Input(path, (), CHART, name, "serving")


def test_the_flags_are_those_of_argo_cd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helm on PATH that prints its arguments."""
    stub = tmp_path / "helm"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    release = given(tmp_path)
    base = given(tmp_path, file="base.yaml").file
    flags = manifests(Input(release.file, (base,), CHART, "demo", "serving")).splitlines()

    assert flags == [
        "template",
        str(CHART),
        "--name-template",
        "demo",
        "--namespace",
        "serving",
        f'--values="{base}"',
        f'--values="{release.file}"',
        "--include-crds",
        "--skip-tests",
    ]


def test_objects_are_parsed_in_order(tmp_path: Path) -> None:
    """The group's object is among them, with the name and namespace asked for."""
    (group,) = [item for item in objects(given(tmp_path)) if item["kind"] == "LeaderWorkerSet"]

    assert {"name": "demo", "namespace": "serving"}.items() <= group["metadata"].items()


@pytest.mark.parametrize("file", ["a,b.yaml", 'a"b.yaml', "with space.yaml", "ünï.yaml"])
def test_file_names_that_helm_could_misread(tmp_path: Path, file: str) -> None:
    """Helm reads --values as a list with commas."""
    assert "LeaderWorkerSet" in manifests(given(tmp_path, file=file))


def test_the_same_values_render_to_the_same_bytes(tmp_path: Path) -> None:
    """Argo CD compares renderings; nothing in them may be random or timed."""
    assert manifests(given(tmp_path)) == manifests(given(tmp_path))


def test_refused_values(tmp_path: Path) -> None:
    """The chart's message comes through."""
    with pytest.raises(RenderError, match=r"PAR001 parallelism needs tensor 6 x pipeline 1 = 6 GPUs"):
        manifests(given(tmp_path, RIGHT + "parallelism: {tensor: 6}\n"))


def test_a_file_that_helm_would_misread(tmp_path: Path) -> None:
    """What Helm is silent about stops before Helm."""
    with pytest.raises(ValuesError, match="twice"):
        manifests(given(tmp_path, RIGHT + "stack: {name: lws}\n"))


def test_a_name_that_helm_would_not_take(tmp_path: Path) -> None:
    """One sentence instead of Helm's regular expression."""
    with pytest.raises(UsageError, match="`A_b` cannot be a release name"):
        manifests(given(tmp_path, name="A_b"))


def test_a_helm_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken helm is named."""
    stub = tmp_path / "helm"
    stub.write_bytes(b"\x00 not a program")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="helm cannot be started"):
        manifests(given(tmp_path))
