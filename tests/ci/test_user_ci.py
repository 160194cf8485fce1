"""docs/ci.md and the pre-commit hook: what a user copies runs, and fails where it should."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from junitparser import JUnitXml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
RIGHT = """\
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
"""
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def snippets() -> Iterator[tuple[str, Any]]:
    """Give the YAML files of the page with their names."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", page, re.DOTALL):
        yield name, yaml.safe_load(text)


def commands(snippet: Any) -> list[str]:
    """Give the commands of a job, less the installation."""
    job = snippet["jobs"]["check"] if "jobs" in snippet else snippet["lockstep"]
    lines = [step["run"] for step in job["steps"] if "run" in step] if "steps" in job else job["script"]
    installs, *rest = lines
    assert installs == "pip install lockstep-serving"
    return rest


JOBS = [(name, *commands(content)) for name, content in snippets() if name != ".pre-commit-config.yaml"]
FORMS = ("sarif", "github", "junit")
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with a right release and a wrong one."""
    for name, text in (("right", RIGHT), ("wrong", RIGHT + "parallelism: {tensor: 2}\n")):
        (tmp_path / "deployments" / name).mkdir(parents=True)
        (tmp_path / "deployments" / name / "values.yaml").write_text(text)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a job as both services do: bash that stops at the first error."""
    environment = {"PATH": PATH, "GITHUB_WORKSPACE": str(folder)}
    shell = ["bash", "-eo", "pipefail", "-c", command]
    return subprocess.run(
        shell, cwd=folder, capture_output=True, text=True, check=False, timeout=60, env=os.environ | environment
    )


def test_the_page_has_a_job_for_each_service() -> None:
    """Two for GitHub, one for GitLab, each with one command."""
    assert [".github/workflows/lockstep.yaml"] * 2 + [".gitlab-ci.yml"] == [name for name, _ in JOBS]


def read(form: str, folder: Path) -> str:
    """Read back what a job wrote in one of the two formats that are files, as its reader does."""
    if form == "sarif":
        (run_,) = json.loads((folder / "lockstep.sarif").read_text())["runs"]
        return json.dumps(run_["results"])
    return JUnitXml.fromfile(str(folder / "lockstep.xml")).tostring().decode()


@pytest.mark.parametrize(("form", "command"), list(zip(FORMS, (job[1] for job in JOBS), strict=True)))
def test_a_job_fails_on_the_wrong_release_alone(form: str, command: str, repository: Path) -> None:
    """What it writes says code and file; with the wrong release gone it passes."""
    failed = run(command, repository)
    written = failed.stdout if form == "github" else read(form, repository)
    (repository / "deployments" / "wrong" / "values.yaml").unlink()
    passed = run(command, repository)

    assert (1, "") == (failed.returncode, failed.stderr)
    assert "PAR001" in written
    assert "deployments/wrong/values.yaml" in written
    assert (0, "") == (passed.returncode, passed.stderr)


def test_the_reports_are_the_files_that_are_uploaded() -> None:
    """A job that uploads another name than it writes uploads nothing."""
    contents = dict(zip([*FORMS, "hook"], (content for _, content in snippets()), strict=True))
    upload = contents["sarif"]["jobs"]["check"]["steps"][-1]["with"]["sarif_file"]
    report = contents["junit"]["lockstep"]["artifacts"]["reports"]["junit"]

    assert JOBS[0][1].endswith(f"> {upload}")
    assert JOBS[2][1].endswith(f"> {report}")


def test_the_settings_of_pytest(repository: Path) -> None:
    """The page's pytest.ini is one that pytest takes, and turns the option on."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```ini\n# pytest.ini\n(.*?)```", page, re.DOTALL)
    (repository / "pytest.ini").write_text(settings)
    done = run("pytest --strict-config --collect-only", repository)

    assert done.returncode == 0
    assert "8 tests collected" in done.stdout


def test_the_hook_refuses_the_wrong_release(repository: Path) -> None:
    """pre-commit appends the files that were changed; the pattern takes those of releases."""
    files = [file.relative_to(repository).as_posix() for file in sorted(repository.rglob("*.yaml"))]
    taken = [
        file for file in [*files, "deployments/right/config.yaml", "myvalues.yaml"] if re.search(HOOK["files"], file)
    ]
    done = run(" ".join([HOOK["entry"], *taken]), repository)

    assert files == taken
    assert done.returncode == 1
    assert "error PAR001 parallelism" in done.stdout


def test_the_hook_of_the_page_is_the_hook() -> None:
    """By its id; the options are lockstep's own."""
    (hook,) = dict(snippets())[".pre-commit-config.yaml"]["repos"][0]["hooks"]

    assert HOOK["id"] == hook["id"]
    assert re.search(hook["files"], "deployments/right/values.yaml")
