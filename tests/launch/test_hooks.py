"""preLaunch hooks run in order before the engine, and no engine starts after one that failed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Pod


def hooks(*commands: list[str]) -> str:
    """Return the contract's variable for some hooks, named first, second, third."""
    names = ["first", "second", "third"]
    return json.dumps([{"name": name, "command": command} for name, command in zip(names, commands, strict=False)])


def test_hooks_run_in_order(pod: Pod) -> None:
    """Each hook gets its arguments as written, and the engine comes last."""
    log = pod.stubs / "log"
    write = ["sh", "-c", 'printf "%s\\n" "$1" >>"$STUBS/log"', "hook"]
    ended = pod.set(PRELAUNCH=hooks([*write, "one $HOME"], [*write, "two"])).run()

    assert 0 == ended.code
    assert "one $HOME\ntwo\n" == log.read_text()
    assert "preLaunch hook 'first' (1 of 2) starts" in ended.stderr
    assert "preLaunch hook 'second' (2 of 2) done in" in ended.stderr
    assert "argv" in ended.engine


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["sh", "-c", "exit 7"], 7, "failed with exit code 7"),
        (["sh", "-c", "kill -9 $$"], 137, "failed with signal SIGKILL"),
        (["/no/such/command"], 127, "cannot run: [Errno 2] No such file or directory: '/no/such/command'"),
    ],
    ids=["code", "signal", "missing"],
)
def test_hooks_fail_closed(pod: Pod, command: list[str], code: int, said: str) -> None:
    """The name and the cause are told, later hooks and the engine do not run."""
    ended = pod.set(PRELAUNCH=hooks(["true"], command, ["touch", str(pod.stubs / "ran")])).run()

    assert ended.code == code
    assert f"preLaunch hook 'second' (2 of 3) {said}" in ended.stderr
    assert not (pod.stubs / "ran").exists()
    assert "" == ended.stdout


def test_hooks_alone(pod: Pod) -> None:
    """The supervisor runs them by themselves."""
    ended = pod.set(PRELAUNCH=hooks(["sh", "-c", "echo patched"])).run("hooks")

    assert 0 == ended.code
    assert "patched\n" == ended.stdout


def test_no_hooks(pod: Pod) -> None:
    """Nothing to run is no fault."""
    ended = pod.run("hooks")

    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")


def test_shell_text_in_a_hook(pod: Pod) -> None:
    """A command substitution in a hook is the hook's own business, not a reference left over."""
    ended = pod.set(PRELAUNCH=hooks(["sh", "-c", "echo $(echo patched)"])).run("hooks")

    assert "patched\n" == ended.stdout


def test_term_reaches_a_hook(pod: Pod) -> None:
    """TERM during a hook ends it, and no engine starts."""
    body = 'trap \'touch "$STUBS/ended"; exit 1\' TERM; touch "$STUBS/began"; while :; do /bin/sleep 0.05; done'
    running = subprocess.Popen(
        pod.set(PRELAUNCH=hooks(["bash", "-c", body])).command(), env=pod.environment, stdout=subprocess.PIPE
    )
    while not (pod.stubs / "began").exists():
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=5)

    assert 143 == running.returncode
    assert out == b""
    assert (pod.stubs / "ended").exists()
