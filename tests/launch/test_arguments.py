"""Whatever a user writes in engine.args reaches the engine exactly, on every rank, with and without supervisor."""

from __future__ import annotations

import socket

import pytest

from .conftest import SUPERVISED, Pod

HOSTILE = [
    "--speculative-config",
    '{"method":"mtp","n":2}',
    "a b",
    "it's",
    '"q"',
    "$HOME",
    "$(id)",
    "`id`",
    "back\\slash",
    "line\nbreak",
    "trailing newline\n",
    "日本語",
    "*",
    "",
    "--key=value with space",
    "-",
    "\t",
    "!!",
    "~",
    "%s",
]
SUPERVISOR = """\
import os, subprocess, sys
launch = os.path.join(os.path.dirname(sys.argv[0]), "launch.sh")
answer = subprocess.run(["bash", launch, "engine", *sys.argv[2:]], stdout=subprocess.PIPE, check=True).stdout
command = answer.decode().split("\\0")[:-1]
os.execvp(command[0], command)
"""


@pytest.mark.parametrize("rank", ["0", "1"], ids=["leader", "worker"])
@pytest.mark.parametrize("supervised", [True, False], ids=["supervised", "alone"])
def test_arguments_arrive(pod: Pod, rank: str, supervised: bool) -> None:
    """Spaces, quotes, JSON, shell syntax, newlines, other scripts and the empty string pass untouched."""
    (pod.launch / "supervisor.py").write_text(SUPERVISOR)
    # A worker without supervisor waits until its leader's port answers.
    with socket.create_server(("127.0.0.2", 0)) as leader:
        pod.set(NODE_RANK=rank, MASTER_PORT=str(leader.getsockname()[1]), **(SUPERVISED if supervised else {}))
        argv = pod.run(*HOSTILE).engine["argv"]
    assert isinstance(argv, list)
    start = argv.index("--speculative-config")

    assert HOSTILE == argv[start : start + len(HOSTILE)]
    assert "--tensor-parallel-size" == argv[start + len(HOSTILE)]


def test_model_with_a_space(pod: Pod) -> None:
    """The model and its name are single items too."""
    argv = pod.set(MODEL="/models/my model", SERVED_NAME="my $model").run().engine["argv"]
    assert isinstance(argv, list)

    assert ["serve", "/models/my model", "--served-model-name", "my $model"] == argv[:4]
