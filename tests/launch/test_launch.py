"""launch.sh becomes the one process of its container, from any user and any kind of volume."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import LAUNCH, SUPERVISED, Pod


def test_engine_is_the_same_process(pod: Pod) -> None:
    """Without a supervisor the engine replaces the shell, so TERM reaches it."""
    with subprocess.Popen(pod.command(), env=pod.environment, stdout=subprocess.PIPE, text=True) as started:
        out, _ = started.communicate(timeout=10)

    assert f'"pid": {started.pid},' in out


def test_supervisor_is_the_same_process(pod: Pod) -> None:
    """With one, the supervisor does, and gets the engine's arguments after --."""
    (pod.launch / "supervisor.py").write_text("import os, sys; print(os.getpid(), sys.argv[1:])")
    pod.set(**SUPERVISED)
    with subprocess.Popen(
        pod.command("--seed", "1"), env=pod.environment, stdout=subprocess.PIPE, text=True
    ) as started:
        out, _ = started.communicate(timeout=10)

    assert f"{started.pid} ['--', '--seed', '1']\n" == out


def test_term_early_in_a_start(pod: Pod) -> None:
    """Process 1 has no default action for TERM; a start that has not come to its supervisor ends all the same."""
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs a process namespace of its own (unshare --pid)")
    pod.stub("mktemp", f'echo $PPID >"$STUBS/began"; /bin/sleep 0.5; exec {shutil.which("mktemp")} "$@"')
    pod.set(**SUPERVISED)
    (pod.launch / "supervisor.py").write_text("import time; time.sleep(20)")
    outer = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", *pod.command()], env=pod.environment)
    while not (pod.stubs / "began").exists():
        time.sleep(0.02)
    first = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
    os.kill(first, signal.SIGTERM)
    try:
        code = outer.wait(timeout=10)
    finally:
        outer.kill()

    assert 143 == code


def test_exit_code_of_the_engine(pod: Pod) -> None:
    """The engine's end is the container's end."""
    pod.stub("vllm", "[[ $1 == --version ]] && echo 0.32.0 && exit\nexit 3\n")

    assert 3 == pod.run().code


def test_files_stay_the_same(pod: Pod) -> None:
    """The supervisor runs a copy that a change of the volume does not reach."""
    body = "import pathlib, sys; print(pathlib.Path(sys.argv[0]).parent, end='')"
    (pod.launch / "supervisor.py").write_text(body)
    copy = Path(pod.set(**SUPERVISED).run().stdout)
    (pod.launch / "engines" / "vllm.sh").write_text("exit 1")

    assert copy.parent == Path(pod.environment["TMPDIR"])
    assert (copy / "engines" / "vllm.sh").read_bytes() == (LAUNCH / "engines" / "vllm.sh").read_bytes()
    assert 0 == subprocess.run(["bash", copy / "launch.sh", "facts"], env=pod.environment, check=True).returncode


def test_volume_of_a_config_map(pod: Pod, tmp_path: Path) -> None:
    """The links of a ConfigMap volume are followed once: all files come from one revision."""
    volume = tmp_path / "lockstep"
    shutil.copytree(pod.launch, volume / "..2026_11_29")
    (volume / "..data").symlink_to("..2026_11_29")
    for entry in pod.launch.iterdir():
        (volume / entry.name).symlink_to(f"..data/{entry.name}")
    pod.launch = volume

    assert pod.run().engine["argv"]
    assert not list(volume.glob("engine-version"))


def test_read_only_volume(pod: Pod) -> None:
    """Nothing is written beside the scripts."""
    before = {path: path.stat().st_mtime_ns for path in (pod.launch, *pod.launch.rglob("*"))}
    for arguments in ([], ["engine"], ["facts"], ["hooks"]):
        assert 0 == pod.run(*arguments).code

    assert before == {path: path.stat().st_mtime_ns for path in (pod.launch, *pod.launch.rglob("*"))}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare for a mount")
@pytest.mark.skipif(not shutil.which("python3", path=os.defpath), reason="needs a python3 that any user may run")
def test_any_user_on_a_read_only_root(pod: Pod, tmp_path: Path) -> None:
    """A user without a passwd entry, a read-only root and one writable folder are enough."""
    pod.stub("vllm", '[[ $1 == --version ]] && echo 0.32.0 && exit\necho "$(id -u)" "$@"\n')
    pod.environment = {name: value.replace(str(tmp_path), "/mnt") for name, value in pod.environment.items()}
    pod.set(PATH=f"/mnt/stubs:{os.defpath}")
    tmp_path.chmod(0o755)
    script = (
        f"mount --bind {tmp_path} /mnt && mount -t tmpfs -o mode=1777 tmpfs /mnt/tmp &&"
        "mount -o remount,ro,bind /mnt &&"
        'mount -o remount,ro,bind / && exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"'
    )
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, "root", "bash", "/mnt/launch/launch.sh", "--seed", "1"],
        env=pod.environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (0, "12345 serve") == (done.returncode, done.stdout[:11]), done.stderr


SCRIPTS = sorted(LAUNCH.rglob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_small(script: Path) -> None:
    """A script that needs 80 lines is two scripts."""
    assert len(script.read_text().splitlines()) < 80


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_need_little(script: Path) -> None:
    """No eval, and no tool that engine images lack."""
    words = set(script.read_text().replace("$(", " ").split())

    assert words.isdisjoint({"eval", "curl", "nc", "dig", "ip", "jq", "sudo", "apt-get", "pip"})


def test_names_fit_one_config_map() -> None:
    """Files of all folders go into one ConfigMap, so no two share a name."""
    names = [path.name for path in LAUNCH.rglob("*") if path.suffix in {".sh", ".py"}]

    assert sorted(set(names)) == sorted(names)
