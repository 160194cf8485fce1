"""Other packages add checks, codes, accelerators and models; what is wrong with one is a finding that names it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft7Validator

from lockstep import codes, plugins
from lockstep.cli import main
from lockstep.memory import accelerators
from lockstep.model import facts
from lockstep.yamlfile import read

from .plugin import forget

if TYPE_CHECKING:
    from collections.abc import Callable

    Install = Callable[..., None]

EXAMPLE = Path(__file__).parents[2] / "plugins" / "examples" / "acme-lockstep"
RIGHT = """\
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
replicas: 2
weights: {source: pvc, claim: models}
"""
CHECK = "from lockstep.findings import Finding\ndef check(release):\n    "
CODE = """\
ACME001: {title: It is ours, severity: warning, why: Because., fails: "", passes: ""}
"""


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """Write a file without findings."""
    file = tmp_path / "right.yaml"
    file.write_text(RIGHT)
    return file


def findings(file: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """Give code and message of what a check says."""
    main(["check", "--output", "json", str(file)])
    return [(row["code"], row["message"]) for row in json.loads(capsys.readouterr().out)["findings"]]


@pytest.mark.parametrize(
    ("source", "groups", "message"),
    [
        pytest.param(
            CHECK + "return release.nodez",
            {"checks": "acme:check"},
            "it failed: AttributeError: 'Release' object has no attribute 'nodez' (acme.py, line 3)",
            id="crash",
        ),
        pytest.param(
            CHECK + "raise SystemExit('no licence')",
            {"checks": "acme:check"},
            "it failed: SystemExit: no licence (acme.py, line 3)",
            id="exit",
        ),
        pytest.param(
            "import no_such_module",
            {"checks": "acme:check"},
            "it cannot be loaded: ModuleNotFoundError: No module named 'no_such_module' (acme.py, line 1)",
            id="broken-import",
        ),
        pytest.param("", {"checks": "acme:check"}, "it cannot be loaded: AttributeError: module 'acme'", id="no-name"),
        pytest.param("check = 3", {"checks": "acme:check"}, "acme:check is no function", id="no-function"),
        pytest.param(
            CHECK + "return 3",
            {"checks": "acme:check"},
            "it failed: TypeError: 'int' object is not iterable",
            id="no-list",
        ),
        pytest.param(CHECK + "yield 'bad'", {"checks": "acme:check"}, "it yielded str, not a finding", id="no-finding"),
        pytest.param(
            CHECK + "yield Finding('ACME009', '', 'm', 'f')",
            {"checks": "acme:check"},
            "it yielded the code ACME009, which no lockstep.codes describes",
            id="code-without-row",
        ),
        pytest.param(
            "file = 3", {"models": "acme:file"}, "acme:file is no readable YAML file: TypeError", id="no-path"
        ),
        pytest.param(
            "file = '/no/such.yaml'",
            {"accelerators": "acme:file"},
            "acme:file is no readable YAML file: UsageError: /no/such.yaml: no such file",
            id="no-file",
        ),
    ],
)
def test_a_plug_in_that_fails_is_an_error_that_names_it(
    source: str,
    groups: dict[str, str],
    message: str,
    right: Path,
    install_plugin: Install,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Entry point, group, package and version, what happened and where; nothing else is disturbed."""
    install_plugin(source, **groups)
    (group,) = groups
    ((code, said),) = findings(right, capsys)

    assert code == "PLG001"
    assert said.startswith(f"plug-in mine (lockstep.{group}) of acme 1.2: {message}")
    assert "\n" not in said
    assert main(["check", str(right)]) == 1


@pytest.mark.parametrize(
    ("group", "content", "message"),
    [
        pytest.param("codes", "X: {}\n", "the file: 'X' does not match", id="form-of-a-code"),
        pytest.param("codes", "PAR001" + CODE[7:], "PAR001 is a code of Lockstep itself", id="code-that-is-taken"),
        pytest.param("models", "models: [{ids: [], config: {}}]\n", "models[0].ids: [] ", id="model-without-id"),
        pytest.param(
            "accelerators",
            "accelerators: {x1: {memory: 80GB, node: 8, tokens: 1, sequences: 1, labels: []}}\n",
            "accelerators.x1.memory: '80GB' is not of type 'integer'",
            id="memory-in-words",
        ),
    ],
)
def test_a_data_file_of_another_form_is_an_error(
    group: str,
    content: str,
    message: str,
    right: Path,
    tmp_path: Path,
    install_plugin: Install,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message says file and place; a wrong number never reaches a formula."""
    file = tmp_path / "data.yaml"
    file.write_text(content)
    install_plugin(f"file = {str(file)!r}", **{group: "acme:file"})
    ((code, said),) = findings(right, capsys)

    assert code == "PLG001"
    assert message in said


def test_findings_before_a_crash_are_kept(
    right: Path, tmp_path: Path, install_plugin: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what the plug-in prints is no part of the output."""
    (tmp_path / "codes.yaml").write_text(CODE)
    source = f"print('loading')\ncodes = {str(tmp_path / 'codes.yaml')!r}\n{CHECK}print('checking')\n"
    source += "    yield Finding('ACME001', 'group', 'ours', 'f')\n    1 / 0\n"
    install_plugin(source, checks="acme:check", codes="acme:codes")
    found = findings(right, capsys)

    assert found[0] == ("ACME001", "ours")
    assert [("PLG001", True)] == [(code, "ZeroDivisionError" in said) for code, said in found[1:]]


def test_a_slow_import_is_a_warning(
    right: Path, install_plugin: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how long it took, and fails nothing."""
    monkeypatch.setattr("lockstep.checks.plugins.SLOW", 0.0)
    install_plugin("def check(release):\n    return []\n", checks="acme:check")
    ((code, said),) = findings(right, capsys)

    assert code == "PLG002"
    assert said.startswith("plug-in mine (lockstep.checks) of acme 1.2: its import took ")
    assert main(["check", str(right)]) == 0


def test_the_own_data_files_fit_the_schemas_of_plug_ins() -> None:
    """A plug-in's author copies a row of ours."""
    schemas = read(plugins._SCHEMAS)

    for group, file in (
        (plugins.CODES, codes._FILE),
        (plugins.ACCELERATORS, accelerators.FACTS),
        (plugins.MODELS, facts.FACTS),
    ):
        Draft7Validator(schemas[group]).validate(read(file))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example package with pip, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder, EXAMPLE]
    subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture
def installed(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process see the installed example."""
    monkeypatch.syspath_prepend(example)
    forget()


@pytest.mark.usefixtures("installed")
def test_the_example_package_adds_check_code_accelerator_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the four is used: the rule, its page, the memory of the accelerator, the shape of the model."""
    try:
        (row,) = (row for row in codes.known().values() if row.code not in codes.registry())
        file = tmp_path / "a.yaml"
        file.write_text(row.fails)
        refused = findings(file, capsys)
        file.write_text(row.passes)
        accepted = findings(file, capsys)
        main(["explain", "acme001"])
        page = capsys.readouterr().out
        main(["plan", "--accelerator", "acme-x1", str(file)])
        picture = capsys.readouterr().out
    finally:
        monkeypatch.undo()
        forget()

    assert row.code == "ACME001"
    assert ("ACME001", "no acme.example.com/cost-centre on the pods of a, which take 1 GPUs a replica") in refused
    assert {"OPS010", "OPS011"} == {code for code, _ in accepted}
    assert page.startswith("ACME001 (error): Nobody pays for these GPUs\n")
    assert "48.0 GiB" in picture
