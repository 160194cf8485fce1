"""The command line: outputs, exit codes, and one message for whatever goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep import share
from lockstep.cli import COMMANDS, main

RIGHT = """\
model: {id: deepseek-ai/DeepSeek-R1}
engine: {name: vllm}
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 8}
parallelism: {tensor: 8, pipeline: 2}
"""


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """Write the five lines."""
    file = tmp_path / "demo.yaml"
    file.write_text(RIGHT)
    return file


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """Write the five lines with a tensor size that does not fit."""
    file = tmp_path / "wrong.yaml"
    file.write_text(RIGHT.replace("tensor: 8", "tensor: 6"))
    return file


def lockstep(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "lockstep", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_a_right_file(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings do not fail a check; the closing line counts them."""
    code = main(["check", str(right)])
    out = capsys.readouterr().out

    assert code == 0
    assert out.endswith(f"{right}: 2 warnings\n")
    assert "warning OPS011 replicas\n" in out


def test_a_wrong_file(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the numbers and the change to make."""
    code = main(["check", str(wrong)])
    out = capsys.readouterr().out

    assert code == 1
    assert out.startswith(
        "error PAR001 parallelism\n"
        "  parallelism needs tensor 6 x pipeline 2 = 12 GPUs, but group has 2 nodes x 8 gpusPerNode = 16.\n"
        "  Set parallelism.tensor: 8 with parallelism.pipeline: 2, or group.gpusPerNode: 6.\n"
    )
    assert out.endswith(f"{wrong}: 1 error, 2 warnings\n")


def test_a_name_that_helm_cannot_take_hides_no_other_finding(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The name says nothing of the values; it is refused once, beside what they get wrong."""
    code = main(["check", str(wrong.rename(wrong.with_name("wrong_name.yaml")))])
    out = capsys.readouterr().out

    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("error ")] == [
        "error STK002",
        "error PAR001 parallelism",
    ]


def test_an_empty_file_misses_each_key_once(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two rules of the schema ask for the same key."""
    right.write_text("")
    code = main(["check", str(right)])
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error VAL002 ")]

    assert code == 1
    assert "error VAL002 group.gpusPerNode" in found
    assert sorted(set(found)) == sorted(found)


def test_several_files(right: Path, wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file is one release; one error fails the whole check."""
    code = main(["check", str(right), str(wrong)])
    out = capsys.readouterr().out

    assert code == 1
    assert f"{right}: 2 warnings\n" in out
    assert f"{wrong}: 1 error, 2 warnings\n" in out


def test_strict_fails_on_a_warning(right: Path) -> None:
    """--strict is for continuous integration."""
    assert main(["check", "--strict", str(right)]) == 1


def test_json(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON form is an interface: version, and seven keys a finding."""
    code = main(["check", "--output", "json", str(wrong)])
    report = json.loads(capsys.readouterr().out)
    law = next(row for row in report["findings"] if row["code"] == "PAR001")

    assert code == 1
    assert report["version"] == 1
    assert law == {
        "code": "PAR001",
        "severity": "error",
        "file": str(wrong),
        "path": "parallelism",
        "message": "parallelism needs tensor 6 x pipeline 2 = 12 GPUs, but group has 2 nodes x 8 gpusPerNode = 16",
        "seen": {
            "parallelism.tensor": 6,
            "parallelism.pipeline": 2,
            "group.nodes": 2,
            "group.gpusPerNode": 8,
        },
        "fix": "Set parallelism.tensor: 8 with parallelism.pipeline: 2, or group.gpusPerNode: 6.",
    }


def test_a_chart_that_is_another(right: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The checks know one chart; Helm renders any."""
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: other\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("{}\n")

    assert main(["check", str(right), "--chart", str(chart)]) == 2
    assert capsys.readouterr().err == f"lockstep: {chart}: not Lockstep's serving chart (no values.schema.json in it)\n"
    assert main(["render", str(right), "--chart", str(chart)]) == 0
    (chart / "values.schema.json").write_text('{"properties": {"queue": {}}}')
    assert main(["check", str(right), "--chart", str(chart)]) == 2
    assert capsys.readouterr().err == f"lockstep: {chart}: not Lockstep's serving chart (no engine among its values)\n"


def test_a_chart_of_another_version(right: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chart without the facts that this version reads is no fault of the values."""
    chart = tmp_path / "serving"
    shutil.copytree(share.folder("charts") / "serving", chart)
    (chart / "files" / "engines" / "vllm.yaml").unlink()

    assert main(["check", str(right), "--chart", str(chart)]) == 2
    assert "vllm.yaml: no such file; use a lockstep as old as the chart" in capsys.readouterr().err


def test_no_findings(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file without findings says so."""
    right.write_text(
        "model: {id: Qwen/Qwen3-8B}\n"
        "engine: {name: vllm}\n"
        "stack: {name: deployment}\n"
        "group: {nodes: 1, gpusPerNode: 1}\n"
        "replicas: 2\n"
        "weights: {source: pvc, claim: models}\n"
    )
    code = main(["check", str(right)])

    assert code == 0
    assert capsys.readouterr().out == f"{right}: no findings\n"


def test_layers_lie_beneath_every_file(right: Path, wrong: Path, tmp_path: Path) -> None:
    """-f is the lowest layer, whatever the order on the command line."""
    base = tmp_path / "base.yaml"
    base.write_text("parallelism: {tensor: 6}\nreplicas: 2\n")

    assert main(["check", str(right), "-f", str(base)]) == 0
    assert main(["check", str(wrong), "-f", str(base)]) == 1


def test_a_shipped_preset_by_its_name(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Presets ship with the tool; their place need not be known."""
    code = main(["render", "-f", "accelerators/h200-8", str(right)])

    assert code == 0
    assert "kind: LeaderWorkerSet" in capsys.readouterr().out


def test_render_prints_what_helm_prints(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Release name from the file, namespace from the option."""
    code = main(["render", str(right), "--namespace", "serving"])
    out = capsys.readouterr().out

    assert code == 0
    assert 'name: "demo"\n  namespace: "serving"\n' in out


def test_render_of_refused_values(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Helm's message is passed on, nothing is printed as objects."""
    code = main(["render", str(wrong)])
    captured = capsys.readouterr()

    assert code == 1
    assert captured.out == ""
    assert "PAR001 parallelism needs tensor 6" in captured.err
    assert "--debug" not in captured.err


def test_render_hands_set_to_helm(right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--set is Helm's: repeatable, above every file, refused in Helm's words."""
    code = main(["render", str(right), "--set", "fullnameOverride=first", "--set", "fullnameOverride=second"])

    assert code == 0
    assert 'name: "second"\n' in capsys.readouterr().out
    assert main(["render", str(right), "--set", "replicas"]) == 1
    assert "failed parsing --set data" in capsys.readouterr().err


def test_render_of_a_key_given_twice(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Helm would render this without a word."""
    wrong.write_text(RIGHT + "group: {nodes: 2, gpusPerNode: 8}\n")
    code = main(["render", str(wrong)])

    assert code == 1
    assert "line 6: the key `group` is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["check", "no.yaml"], "lockstep: no.yaml: no such file\n", id="missing-file"),
        pytest.param(
            ["check", "."],
            "lockstep: .: a folder without appsets/*.yaml; name a values file, or the folder of Argo CD objects\n",
            id="folder",
        ),
        pytest.param(["render", "."], "lockstep: .: a folder; name the values file in it\n", id="folder-to-render"),
        pytest.param(["check", "demo.yaml", "-f", "no.yaml"], "lockstep: no.yaml: no such file\n", id="missing-base"),
        pytest.param(
            ["check", "demo.yaml", "-f", "fabrics/no"],
            "lockstep: fabrics/no: no such file, and no preset; fabrics/aws-efa, ",
            id="missing-preset",
        ),
        pytest.param(
            ["check", "demo.yaml", "-f", "h100-8"],
            "lockstep: h100-8: no such file, and no preset; accelerators/h100-8 is one\n",
            id="preset-without-its-folder",
        ),
        pytest.param(
            ["check", "demo.yaml", "--chart", "."], "lockstep: .: not a chart (no Chart.yaml in it)\n", id="no-chart"
        ),
        pytest.param(
            ["check", "demo.yaml", "wrong.yaml", "--name", "x"],
            "lockstep: --name goes with one FILE; several releases cannot share a name\n",
            id="one-name-for-two",
        ),
        pytest.param(
            ["render", "demo.yaml", "--name", "A_b"],
            "lockstep: `A_b` cannot be a release name (at most 53 characters of a-z, 0-9, - and ., with a letter or "
            "digit at both ends); rename the file or give --name\n",
            id="impossible-name",
        ),
        pytest.param(
            ["explain", "PAR999"],
            "lockstep: there is no finding PAR999; `lockstep explain` lists all",
            id="unknown-code",
        ),
        pytest.param(
            ["check"],
            "check needs a FILE: one of values, or one of Kubernetes objects after --manifests\n",
            id="no-file",
        ),
        pytest.param(["check", "demo.yaml", "--context", "c"], "--context goes with --live\n", id="context-of-nothing"),
        pytest.param(["check", "demo.yaml", "--clusters", "c"], "--clusters goes with a folder of ", id="no-clusters"),
        pytest.param(["check", "--manifests", "m", "-f", "demo.yaml"], "-f goes with a values file", id="base-of-none"),
        pytest.param(["check", "--manifests", "m", "--name", "x"], "--name goes with a values file", id="name-of-none"),
        pytest.param(
            ["diff", "demo.yaml", "demo.yaml", "--clusters", "c"], "--clusters goes with --git\n", id="no-git"
        ),
        pytest.param(["diff", "demo.yaml", "demo.yaml", "--html", "no/x"], "no/x: cannot be written", id="no-page"),
        pytest.param(
            ["diff", ".", "--git", "HEAD", "--html", "x"], "it does not go with --git\n", id="page-of-a-fleet"
        ),
        pytest.param(["diff", ".", "--git", "HEAD", "--chart", "x"], "--chart goes with a values file", id="its-chart"),
        pytest.param([], "the following arguments are required: COMMAND\nSee `lockstep --help`.\n", id="no-command"),
        pytest.param(["chek", "x"], "invalid choice: 'chek'", id="unknown-command"),
        pytest.param(["check", "demo.yaml", "--output", "xml"], "invalid choice: 'xml'", id="unknown-output"),
        pytest.param(["check", "demo.yaml", "--frob"], "unrecognized arguments: --frob", id="unknown-option"),
    ],
)
def test_wrong_use_is_one_message_and_exit_code_2(
    words: list[str],
    message: str,
    right: Path,
    wrong: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No traceback, no page of usage."""
    monkeypatch.chdir(right.parent)
    assert wrong.exists()
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()

    assert code == 2
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) <= 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- a\n", id="list"),
        pytest.param("a: 1\n---\nb: 2\n", id="two-documents"),
        pytest.param("a: [\n", id="broken"),
    ],
)
def test_a_file_that_is_no_mapping_is_a_finding(text: str, right: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Content is judged, so the exit code is 1 and other files are still checked."""
    right.write_text(text)
    code = main(["check", str(right)])

    assert code == 1
    assert capsys.readouterr().out.startswith("error VAL001\n  line ")


@pytest.mark.parametrize("words", [["plan"], ["render"], ["diff", "demo.yaml"]], ids=lambda words: words[0])
def test_a_file_that_cannot_be_read_is_named(
    words: list[str], right: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that reads two files says which of them it was."""
    monkeypatch.chdir(right.parent)
    Path("broken.yaml").write_text("a: 1\na: 2\n")
    code = main([*words, "broken.yaml"])

    assert code == 1
    assert "lockstep: broken.yaml: line 2: the key `a` is given twice (first on line 1)\n" == capsys.readouterr().err


def test_a_pipe_is_checked_and_not_rendered(right: Path) -> None:
    """Helm opens the file again, and would find it empty or gone."""
    checked, rendered = (
        subprocess.run(
            ["bash", "-c", f'exec "$0" -m lockstep {words} --name demo <(cat "$1")', sys.executable, right],
            capture_output=True,
            text=True,
            check=False,
        )
        for words in ("check", "render")
    )

    assert (0, "") == (checked.returncode, checked.stderr)
    assert rendered.returncode == 2
    assert "a pipe, which can be read once, and Helm reads it too; write it to a file first" in rendered.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param('check "$1" >&-', 0, "", id="output"),
        pytest.param("check --manifests - <&-", 2, "lockstep: -: standard input is closed\n", id="input"),
    ],
)
def test_a_closed_stream_is_no_fault(words: str, code: int, said: str, right: Path) -> None:
    """Some who start programs close what they do not need; the exit code is what they look at."""
    done = subprocess.run(
        ["bash", "-c", f'exec "$0" -m lockstep {words}', sys.executable, right],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (code, said) == (done.returncode, done.stderr)


def test_explain_lists_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a code, one line each."""
    code = main(["explain"])

    assert code == 0
    assert "PAR001  error    The split of the model" in capsys.readouterr().out


def test_explain_shows_both_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason, the fault and its neighbour."""
    code = main(["explain", "eng003"])
    out = capsys.readouterr().out

    assert code == 0
    assert out.startswith("ENG003 (error): This version of the engine does not span nodes\n")
    assert "version: 0.11.0" in out.partition("Has the fault:")[2].partition("Has it not:")[0]
    assert "version: 0.11.1" in out.partition("Has it not:")[2]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version names the program."""
    with pytest.raises(SystemExit) as end:
        main(["--version"])

    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("lockstep 0.")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of commands and their modules fit together."""
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])

    assert end.value.code == 0
    assert "options:" in capsys.readouterr().out


def test_help_keeps_the_capitals_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the first letter of a summary is raised."""
    with pytest.raises(SystemExit):
        main(["render", "--help"])

    assert "Print the objects that Helm and Argo CD would apply." in capsys.readouterr().out


def test_a_fault_of_lockstep_is_one_line(
    right: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bug ends in a sentence that says how to see more."""
    monkeypatch.setattr("lockstep.commands.check.run_checks", lambda _given: 1 / 0)
    code = main(["check", str(right)])
    err = capsys.readouterr().err

    assert code == 2
    assert err.startswith("lockstep: a fault of lockstep itself: ZeroDivisionError: division by zero (LOCKSTEP_DEBUG=1")
    assert len(err.splitlines()) == 1


def test_an_output_that_is_full_is_one_line(right: Path) -> None:
    """A full disk is no fault of Lockstep."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lockstep", "check", right],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr == "lockstep: the output cannot be written (No space left on device)\n"


def test_the_debug_variable_shows_where(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever mends Lockstep gets the traceback."""
    monkeypatch.setenv("LOCKSTEP_DEBUG", "1")
    monkeypatch.setattr("lockstep.commands.check.run_checks", lambda _given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["check", str(right)])


def test_ctrl_c_ends_with_130(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell expects."""

    def interrupt(_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lockstep.commands.check.run_checks", interrupt)

    assert main(["check", str(right)]) == 130


def test_without_helm_checks_work_and_render_says_how_to_get_it(right: Path, tmp_path: Path) -> None:
    """A check needs no Helm; render says in one message where it looked and what to do."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    script = "import sys; sys.executable = sys.argv.pop(1); from lockstep.cli import main; sys.exit(main(sys.argv[1:]))"

    def without_helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script, python, *words],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PATH": "/nowhere"},
        )

    checked = without_helm("check", right)
    rendered = without_helm("render", right)

    assert checked.returncode == 0
    assert (rendered.returncode, rendered.stdout) == (2, "")
    assert rendered.stderr.startswith("lockstep: helm was found neither on PATH nor in ")
    assert "make setup" in rendered.stderr
    assert len(rendered.stderr.splitlines()) == 1


def test_a_reader_that_stops_early_is_no_error(right: Path) -> None:
    """`lockstep render ... | head -1` ends quietly."""
    script = f'"{sys.executable}" -m lockstep render "{right}" | head -n 1'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    assert done.stdout == "---\n"
    assert done.stderr == ""


def test_output_to_a_file_has_no_colour(wrong: Path) -> None:
    """Colour is for terminals."""
    done = lockstep("check", wrong)

    assert done.returncode == 1
    assert "\033[" not in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif", "junit"])
def test_a_locale_that_lacks_a_letter(form: str, right: Path) -> None:
    """Every form is printed; those for programs hold the letter all the same."""
    right.write_text(RIGHT.replace("vllm", "vllm\U0001f600"), encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = lockstep("check", "--output", form, right, **plain)
    spelt = {"json": "\\ud83d\\ude00", "sarif": "\\ud83d\\ude00", "junit": "&#128512;"}

    assert (1, "") == (done.returncode, done.stderr)
    assert spelt.get(form, "\\U0001f600") in done.stdout


def test_a_check_imports_no_other_command(right: Path) -> None:
    """Start-up stays small: what other commands need is not loaded."""
    script = (
        "import sys; from lockstep.cli import main; main(sys.argv[1:]);"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in ('rich', 'lockstep', 'subprocess')))"
    )
    done = subprocess.run([sys.executable, "-c", script, "check", right], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())

    assert "lockstep.checks" in loaded
    assert set() == loaded & {"rich", "subprocess", "lockstep.helm", "lockstep.render", "lockstep.rehearse"}
