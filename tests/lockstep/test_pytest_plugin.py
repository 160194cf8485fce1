"""``pytest --lockstep``: values files become tests, and a failure is the finding and nothing else."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, TypeAlias

import pytest

from lockstep.errors import UsageError
from lockstep.pytest_plugin import LockstepWarning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest_plugins = ["pytester"]

RIGHT = """\
model: {id: Qwen/Qwen3-8B}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
replicas: 2
"""
OBJECTS = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {}}]

Write: TypeAlias = "Callable[[str, str], Path]"


@pytest.fixture(autouse=True)
def usual_warnings() -> None:
    """Let the plug-in's warnings be warnings in the inner runs, which are of this process."""
    warnings.filterwarnings("default", category=LockstepWarning)


@pytest.fixture
def write(pytester: pytest.Pytester) -> Callable[[str, str], Path]:
    """Write a file below the folder of the inner run."""

    def write_file(name: str, text: str) -> Path:
        file = pytester.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write_file


def test_a_right_file_is_four_tests(pytester: pytest.Pytester, write: Write) -> None:
    """A warning of a check is a warning of pytest, with file and line."""
    write("deployments/prod/qwen/values.yaml", RIGHT)
    done = pytester.runpytest_inprocess("--lockstep", "-v", "deployments/")

    done.assert_outcomes(passed=4, warnings=1)
    done.stdout.fnmatch_lines(
        [
            *(
                f"deployments/prod/qwen/values.yaml::{name} PASSED*"
                for name in ("schema", "checks", "render", "objects")
            ),
            "*LockstepWarning: deployments/prod/qwen/values.yaml:1: warning OPS010 weights.source",
        ]
    )


def test_warnings_fail_where_pytest_is_told_so(pytester: pytest.Pytester, write: Write) -> None:
    """-W error is the --strict of `lockstep check`."""
    write("qwen/values.yaml", RIGHT)
    done = pytester.runpytest_inprocess("--lockstep", "-W", "error::lockstep.pytest_plugin.LockstepWarning")

    done.assert_outcomes(passed=3, failed=1)


def test_a_failure_is_the_finding(pytester: pytest.Pytester, write: Write) -> None:
    """File, line, numbers and the change to make; no traceback, and no second failure for the same fault."""
    write("qwen/values.yaml", RIGHT + "parallelism: {tensor: 2}\n")
    done = pytester.runpytest_inprocess("--lockstep")

    done.assert_outcomes(passed=1, failed=1, skipped=2)
    done.stdout.fnmatch_lines(
        [
            "*_ qwen/values.yaml checks _*",
            "qwen/values.yaml:6: error PAR001 parallelism",
            "  parallelism needs tensor 2 x pipeline 1 = 2 GPUs, but group has 1 node x 1 gpusPerNode = 1.",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")
    done.stdout.no_fnmatch_line("*runtest*")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [\n", "qwen/values.yaml:2: error VAL001", id="no-yaml"),
        pytest.param(RIGHT + "replcas: 2\n", "qwen/values.yaml:6: error VAL002 replcas", id="no-key"),
    ],
)
def test_a_file_of_another_shape_fails_once(text: str, message: str, pytester: pytest.Pytester, write: Write) -> None:
    """The other tests are skipped and say why."""
    write("qwen/values.yaml", text)
    done = pytester.runpytest_inprocess("--lockstep", "-rs")

    done.assert_outcomes(failed=1, skipped=3)
    done.stdout.fnmatch_lines([message])
    done.stdout.fnmatch_lines(["SKIPPED*the test schema says why"])


def test_which_files_are_taken(pytester: pytest.Pytester, write: Write) -> None:
    """By name, by the setting, or because the command line names one; nothing without the option."""
    write("qwen/values.yaml", RIGHT)
    write("mine.prod.yaml", RIGHT)
    write("other.yaml", "kind: Pod\n")

    assert pytester.runpytest_inprocess("--collect-only", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    pytester.runpytest_inprocess("--lockstep", "--collect-only").stdout.fnmatch_lines(["*4 tests collected*"])
    pytester.runpytest_inprocess("--lockstep", "--collect-only", "mine.prod.yaml").stdout.fnmatch_lines(
        ["*<ValuesFile mine.prod.yaml>", "*4 tests collected*"]
    )
    pytester.makeini("[pytest]\nlockstep_files = *.prod.yaml values.yaml\n")
    pytester.runpytest_inprocess("--lockstep", "--collect-only").stdout.fnmatch_lines(["*8 tests collected*"])


def test_what_lies_beneath(pytester: pytest.Pytester, write: Write) -> None:
    """Presets of the settings, and those that the deployment's own config.yaml names."""
    write(
        "qwen/values.yaml", RIGHT.replace(", gpusPerNode: 1", "").replace("engine", "parallelism: {tensor: 8}\nengine")
    )
    write("qwen/config.yaml", "namespace: serving\npresets: [accelerators/h100-8]\n")
    pytester.runpytest_inprocess("--lockstep", "-k", "schema").assert_outcomes(passed=1, deselected=3)
    write("qwen/config.yaml", "namespace: serving\n")
    pytester.runpytest_inprocess("--lockstep", "-k", "schema").assert_outcomes(failed=1, deselected=3)
    pytester.makeini("[pytest]\nlockstep_values = accelerators/h100-8\n")
    pytester.runpytest_inprocess("--lockstep", "-k", "schema").assert_outcomes(passed=1, deselected=3)
    pytester.makeini("[pytest]\nlockstep_values = accelerators/h900-8\n")
    done = pytester.runpytest_inprocess("--lockstep", "-k", "schema")

    done.assert_outcomes(failed=1, deselected=3)
    done.stdout.fnmatch_lines(["accelerators/h900-8: no such file, and no preset; accelerators/*"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("presets: [\n", "*config.yaml: line 2: not valid YAML: *", id="no YAML"),
        pytest.param(
            "presets: accelerators/h100-8\n", "*config.yaml: presets is text, not a list of files", id="no list"
        ),
    ],
)
def test_a_config_that_cannot_be_read_is_named(
    pytester: pytest.Pytester, write: Write, text: str, message: str
) -> None:
    """The fault is not one of the values file."""
    write("qwen/values.yaml", RIGHT)
    write("qwen/config.yaml", text)
    done = pytester.runpytest_inprocess("--lockstep", "-k", "schema")

    done.assert_outcomes(failed=1, deselected=3)
    done.stdout.fnmatch_lines([message])


def test_objects_that_do_not_fit(pytester: pytest.Pytester, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object, the place in it, and what is wrong."""
    monkeypatch.setattr("lockstep.render.objects", lambda _given: OBJECTS)
    write("qwen/values.yaml", RIGHT)
    done = pytester.runpytest_inprocess("--lockstep", "-k", "objects")

    done.assert_outcomes(failed=1, deselected=3)
    done.stdout.fnmatch_lines(["ConfigMap x: the object: *'dta' was unexpected*"])


@pytest.mark.parametrize("version", ["1.99", "1.2"], ids=["unknown", "before there were any"])
def test_a_version_of_kubernetes_without_schemas(
    pytester: pytest.Pytester, write: Write, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The message lists those that are there."""
    monkeypatch.setattr("lockstep.render.objects", lambda _given: OBJECTS)
    write("qwen/values.yaml", RIGHT)
    pytester.makeini(f"[pytest]\nlockstep_kubernetes = {version}\n")
    done = pytester.runpytest_inprocess("--lockstep", "-k", "objects")

    done.stdout.fnmatch_lines([f"there are no schemas of Kubernetes {version}; kubernetes-validate has 1.*"])


def test_without_helm(pytester: pytest.Pytester, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs Helm is skipped and says so; the checks run."""

    def nowhere() -> Path:
        raise UsageError("helm was found nowhere")

    monkeypatch.setattr("lockstep.helm.find", nowhere)
    write("qwen/values.yaml", RIGHT)
    done = pytester.runpytest_inprocess("--lockstep", "-rs")

    done.assert_outcomes(passed=2, skipped=2, warnings=1)
    done.stdout.fnmatch_lines(["SKIPPED*needs helm: helm was found nowhere"])


def test_pytest_starts_without_the_checks() -> None:
    """Every run of pytest in an environment with Lockstep imports the plug-in."""
    script = "import sys, lockstep.pytest_plugin; print(*(name for name in sys.modules if name.startswith('lockstep')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["lockstep", "lockstep.pytest_plugin"]
