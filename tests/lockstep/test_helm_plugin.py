"""``helm lockstep``: the plug-in's form for Helm 3 and that for Helm 4, run by the real Helm (4 reads both)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
import yaml

from lockstep import __version__, helm

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS = Path(__file__).parents[2] / "plugins" / "helm"
RIGHT = """\
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
"""

Helm: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture(params=["v3", "v4"])
def run_helm(request: pytest.FixtureRequest, tmp_path: Path) -> Helm:
    """Install one form into folders of its own, and run Helm there."""
    homes = {f"HELM_{kind}_HOME": str(tmp_path / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [helm.find(), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=os.environ | homes | {"PATH": path},
        )

    installed = run("plugin", "install", FORMS / request.param)
    assert installed.returncode == 0, installed.stderr
    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a right file."""
    path = tmp_path / "qwen.yaml"
    path.write_text(RIGHT)
    return path


def test_helm_runs_lockstep(run_helm: Helm, file: Path) -> None:
    """Options of lockstep reach it, its exit code reaches the shell, and Helm lists it."""
    right = run_helm("lockstep", "check", file, "-f", "accelerators/h100-8")
    strict = run_helm("lockstep", "check", "--strict", file)

    assert right.returncode == 0
    assert right.stdout.endswith(f"{file}: 2 warnings\n")
    assert strict.returncode == 1
    assert "  lockstep    check, render and rehearse" in run_helm("help").stdout


def test_the_namespace_of_helm_is_that_of_lockstep(run_helm: Helm, file: Path) -> None:
    """Helm reads -n itself and hands on a variable."""
    done = run_helm("lockstep", "render", file, "-n", "serving")

    assert done.returncode == 0
    assert 'namespace: "serving"\n' in done.stdout


@pytest.mark.parametrize("form", ["v3", "v4"])
def test_both_forms_have_the_version_of_the_package(form: str) -> None:
    """Helm shows it in its list."""
    text = (FORMS / form / "plugin.yaml").read_text(encoding="utf-8")

    assert __version__ == yaml.safe_load(text)["version"]


def test_lockstep_renders_with_the_helm_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """HELM_BIN is what that Helm says of itself."""
    monkeypatch.setenv("HELM_BIN", sys.executable)

    assert Path(sys.executable) == helm.find()
