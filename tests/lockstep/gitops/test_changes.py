"""``lockstep diff --git BASE``: what a commit does to the Applications and groups of a fleet."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from lockstep.cli import main

from .trees import plant

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "argocd/deployments/local/deepseek-r1/config.yaml"
VALUES = "argocd/deployments/local/deepseek-r1/values.yaml"
SMALL = """\
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm, args: {max-model-len: 8192}}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
"""


def git(root: Path, *words: str) -> None:
    """Run Git as nobody in particular."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", "-C", root, *who, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository whose one commit is the shipped fleet, with the charts as files of its own."""
    folder = plant(tmp_path, {}, copies=True)
    (tmp_path / ".git").rmdir()
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=Base")
    return folder


def said(folder: Path, capsys: pytest.CaptureFixture[str], base: str = "main") -> list[str]:
    """Run the command and give what it printed, by lines."""
    code = main(["diff", "--git", base, str(folder)])
    printed = capsys.readouterr()

    assert 0 == code, printed.err
    return printed.out.splitlines()


def write(folder: Path, path: str, text: str) -> None:
    """Write a file of the repository."""
    file = folder.parent / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_nothing_changes_without_a_change(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence says so."""
    assert ["No Application changes."] == said(repository, capsys)


def test_a_commit_adds_changes_and_touches_what_it_says(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new folder, a new image and a newer addon in one commit: each is named, the queues are not."""
    write(
        repository, "argocd/deployments/local/qwen3-8b/config.yaml", "{chart: HEAD, namespace: serving, presets: []}\n"
    )
    write(repository, "argocd/deployments/local/qwen3-8b/values.yaml", SMALL)
    old = (repository.parent / VALUES).read_text(encoding="utf-8")
    write(repository, VALUES, old + "pod: {annotations: {example.com/bump: one}}\n")
    addon = (repository / "addons/lws/addon.yaml").read_text(encoding="utf-8")
    write(repository, "argocd/addons/lws/addon.yaml", addon.replace("0.10.0", "0.11.0"))

    *lines, restart, end = said(repository, capsys)

    assert [
        "Applications: 1 added, 2 changed, 0 removed.",
        "local.qwen3-8b: added; 1 group of 1 node takes 1 GPU.",
        "local.lws: lws 0.10.0 becomes lws 0.11.0.",
        "local.lws: its values or settings change.",
    ] == lines
    assert restart.startswith("local.deepseek-r1: LeaderWorkerSet deepseek-r1-")
    assert ": every group restarts once, from the highest number down" in restart
    assert "local.deepseek-r1: Nothing serves for a model load." == end


def test_a_preset_restarts_whoever_uses_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change of a file under values/ is a change of the releases that name it."""
    preset = "values/models/deepseek-r1.yaml"
    old = (repository.parent / preset).read_text(encoding="utf-8")
    write(repository, preset, old.replace("max-model-len: 65536", "max-model-len: 32768"))

    lines = said(repository, capsys)

    assert "Applications: 0 added, 1 changed, 0 removed." == lines[0]
    assert "every group restarts once" in lines[1]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(
            "",
            "local.deepseek-r1: removed; what it made, with 16 GPUs, stays and is nobody's. Delete it by hand, or "
            "bring the folder back.",
            id="keeps",
        ),
        pytest.param(
            "onRemoval: delete\n", "local.deepseek-r1: removed, and everything that it made is deleted.", id="deletes"
        ),
    ],
)
def test_a_folder_that_goes_says_what_becomes_of_the_model(
    repository: Path, capsys: pytest.CaptureFixture[str], config: str, expected: str
) -> None:
    """Kept unless the config had said otherwise in a commit before."""
    old = (repository.parent / CONFIG).read_text(encoding="utf-8")
    write(repository, CONFIG, old + config)
    git(repository.parent, "commit", "--quiet", "--all", "--allow-empty", "--message=Say it before")
    for path in (CONFIG, VALUES):
        (repository.parent / path).unlink()

    assert ["Applications: 0 added, 0 changed, 1 removed.", expected] == said(repository, capsys)


def test_a_template_that_breaks_changes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Argo CD leaves the Applications of such a set alone, so they are not said to be removed."""
    write(repository, CONFIG, "{chart: HEAD, namespace: serving}\n")

    lines = said(repository, capsys)

    assert lines[0].startswith("ApplicationSet serving cannot be rendered, so none of its Applications changes: ")
    assert lines[0].endswith(".presets is not defined")
    assert ["No Application changes."] == lines[1:]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--git", "nowhere"], "nowhere: not a revision of the repository", id="no such commit"),
        pytest.param(["another", "--git", "main"], "diff --git takes one FILE", id="two folders"),
    ],
)
def test_wrong_use_is_said(
    repository: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    """One message, exit code 2."""
    assert 2 == main(["diff", str(repository), *words])
    assert expected in capsys.readouterr().err
