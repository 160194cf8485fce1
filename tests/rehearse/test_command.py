"""``lockstep rehearse`` as a person types it: output, exit codes, and one message for whatever is wrong."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.rehearse.launcher import namespaces

VALUES = """
model: {id: acme/tiny}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 1}
drain: {seconds: 5, propagationSeconds: 0}
pod: {probes: {startup: {periodSeconds: 1}, readiness: {periodSeconds: 1}}}
supervisor: {enabled: false}
"""


def lockstep(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``lockstep rehearse``."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "lockstep", "rehearse", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PATH": beside} | environment,
    )


@pytest.fixture
def values(tmp_path: Path) -> Path:
    """Return a values file of one node."""
    path = tmp_path / "tiny.yaml"
    path.write_text(VALUES)
    return path


def test_plain_lines(values: Path) -> None:
    """Without a terminal: a line for each event, the answer, the figures."""
    done = lockstep(values)

    assert (0, "") == (done.returncode, done.stderr)
    assert "rank 0   ready     pod is Ready" in done.stdout
    assert "\nanswer: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("rehearsal: Ready after ")


def test_json_and_picture(values: Path, tmp_path: Path) -> None:
    """--json prints one document and nothing else; --picture leaves a drawing."""
    picture = tmp_path / "timeline.svg"
    done = lockstep(values, "--json", "--picture", picture)
    document = json.loads(done.stdout)

    assert (0, "") == (done.returncode, done.stderr)
    assert (1, True, "standin") == (document["version"], document["ok"], document["engine"])
    assert {"at", "kind", "text", "rank", "pod"} == set(document["events"][0])
    assert picture.read_text().startswith("<svg ")


def test_kept_group_answers_on_a_port(values: Path) -> None:
    """--keep leads a port of this machine to the group, and Ctrl-C ends it well."""
    command = [sys.executable, "-m", "lockstep", "rehearse", str(values), "--keep", "--port", "0"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PATH": path}) as held:
        hint = next(line for line in held.stdout or () if "curl" in line)
        address = hint.split("http://")[1].split("/")[0]
        with socket.create_connection((address.split(":")[0], int(address.split(":")[1])), timeout=5) as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = client.makefile("rb").read()
        held.send_signal(2)
        held.communicate(timeout=20)

    assert b"acme/tiny" in answer
    assert 0 == held.returncode


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("none.yaml: no such file", ["none.yaml"]),
        ("unknown kind 'explode'", ["VALUES", "--fault", "explode worker@1"]),
        ("ROLE[-INDEX]@SECONDS is expected", ["VALUES", "--kill", "worker"]),
        ("the group has ranks 0 to 0", ["VALUES", "--kill", "worker@1"]),
        ("faults.yaml: No such file", ["VALUES", "--fault", "faults.yaml"]),
        ("a file that ends in .svg or .html", ["VALUES", "--picture", "x.png"]),
        ("/no/x.svg: cannot be written (there is no folder /no)", ["VALUES", "--picture", "/no/x.svg"]),
        ("--port: '99999' is no port; it must be from 0 to 65535", ["VALUES", "--keep", "--port", "99999"]),
        ("--port goes with --keep", ["VALUES", "--port", "8000"]),
        ("--timeout: '-3' must be a number of seconds above 0", ["VALUES", "--timeout", "-3"]),
    ],
    ids=[
        "no file",
        "no kind",
        "no time",
        "no rank",
        "no script",
        "no picture",
        "no folder",
        "no port",
        "not kept",
        "no timeout",
    ],
)
def test_wrong_use(values: Path, message: str, words: list[str]) -> None:
    """One message, exit code 2."""
    done = lockstep(*(str(values) if word == "VALUES" else word for word in words))

    assert 2 == done.returncode
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_port_that_is_taken(values: Path) -> None:
    """Said before anything starts."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = lockstep(values, "--keep", "--port", str(taken.getsockname()[1]))

    assert 2 == done.returncode
    assert "give another one with --port" in done.stderr


def test_values_that_the_chart_refuses(values: Path) -> None:
    """The errors as `lockstep check` says them, exit code 1, nothing started."""
    values.write_text(VALUES.replace("nodes: 1", "nodes: 2"))
    done = lockstep(values)

    assert 1 == done.returncode
    assert "error STK001" in done.stderr
    assert done.stderr.endswith(f"{values}: 1 error\n")
    assert "" == done.stdout


def test_reader_that_stops_early(values: Path) -> None:
    """`lockstep rehearse ... | head -1` stops the group and ends quietly, with the code of a closed pipe."""
    script = f'"{sys.executable}" -m lockstep rehearse "{values}" | head -n 1; exit "${{PIPESTATUS[0]}}"'
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PATH": path},
    )

    assert (141, "") == (done.returncode, done.stderr)
    assert 1 == len(done.stdout.splitlines())


def test_output_that_is_full(values: Path) -> None:
    """A full disk stops the group with one message."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lockstep", "rehearse", values],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
            env=os.environ | {"PATH": path},
        )

    assert (2, "lockstep: the output cannot be written (No space left on device)\n") == (done.returncode, done.stderr)


@pytest.mark.skipif(namespaces() is None, reason="needs to mount a small /tmp: root or user namespaces")
def test_folder_that_is_full(values: Path, tmp_path: Path) -> None:
    """No room for the pods' files is one message that names the way out, and the folder is empty afterwards."""
    small = tmp_path / "small"
    small.mkdir()
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = 'mount -t tmpfs -o size=280k tmpfs "$TMPDIR" && "$@"; code=$?; ls -A "$TMPDIR"; exit "$code"'
    command = ["unshare", *own, "--mount", "sh", "-c", script, "sh", sys.executable, "-m", "lockstep", "rehearse"]
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*command, "--json", "--network", "loopback", values],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PATH": beside, "TMPDIR": str(small)},
    )

    assert (2, "") == (done.returncode, done.stdout)
    assert f"lockstep: no room in {small} for the pods' files: set TMPDIR to a folder with more\n" == done.stderr


def test_helm_is_missing(values: Path, tmp_path: Path) -> None:
    """One message that says where Helm was looked for."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    code = "import sys; sys.executable = sys.argv.pop(1); from lockstep.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(python), "rehearse", str(values)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": "/nonexistent"},
    )

    assert 2 == done.returncode
    assert "helm was found neither on PATH nor in" in done.stderr


def test_engine_that_dies_at_start(values: Path) -> None:
    """The exit code and the engine's last words, exit code 1."""
    values.write_text(VALUES.replace("engine: {name: vllm}", "engine: {name: vllm, args: {max-num-seqs: many}}"))
    done = lockstep(values)

    assert 1 == done.returncode
    assert "container ended with exit code 2 before the group was Ready" in done.stderr
    assert "invalid int value: 'many'" in done.stderr
