"""However a rehearsal ends, nothing of it stays: no process, no folder, no link, no shared memory."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lockstep.rehearse import janitor, launcher, processes
from lockstep.rehearse.launcher import namespaces

from .test_session import NETWORKS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


class Held:
    """A rehearsal that another process holds, with its folder below ``tmp``."""

    def __init__(self, tmp: Path, network: str, *words: str) -> None:
        self.tmp, self.network = tmp, network
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "tests.rehearse.hold", network, *words],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(tmp)},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def close(self) -> None:
        """End it, whatever happened."""
        self.launcher.kill()
        self.launcher.wait()
        if self.launcher.stderr:
            self.launcher.stderr.close()

    def until(self, *kinds: str) -> Path:
        """Wait until events of these kinds have happened; return the folder."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for path in self.tmp.glob("rehearsal-*/timeline.jsonl"):
                seen = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
                if all(seen.count(kind) >= kinds.count(kind) for kind in kinds):
                    return path.parent
            time.sleep(0.05)
        raise AssertionError(f"{kinds} did not happen")

    def gone(self, folder: Path) -> bool:
        """Return whether all of it is gone within ten seconds."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if not processes.marked(str(folder)) and not folder.exists():
                return True
            time.sleep(0.05)
        return False


@pytest.fixture(params=NETWORKS)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    """Return a rehearsal that runs; machine-wide things must be the same afterwards."""
    before = machine()
    found = Held(tmp_path, request.param)
    yield found
    found.close()
    deadline = time.monotonic() + 5
    while machine() != before and time.monotonic() < deadline:
        time.sleep(0.1)

    assert before == machine()


def machine() -> tuple[list[str], list[str]]:
    """Return what a careless rehearsal would leave: interfaces, and its shared memory."""
    links = sorted(each.name for each in Path("/sys/class/net").iterdir())
    shared = sorted(each.name for each in Path("/dev/shm").iterdir()) if namespaces() is None else []
    return links, shared


def test_kill_of_the_launcher(held: Held) -> None:
    """SIGKILL of the process that the user started."""
    folder = held.until("request")
    held.launcher.kill()

    assert held.gone(folder)


def test_kill_of_the_launcher_while_the_session_hangs(held: Held) -> None:
    """A session that stands still cannot let go: the janitor ends it."""
    folder = held.until("request")
    processes.send(sessions(folder), signal.SIGSTOP)
    held.launcher.kill()

    assert held.gone(folder)


def test_kill_while_it_starts(held: Held) -> None:
    """The same before anything is Ready."""
    folder = held.until("created")
    held.launcher.kill()

    assert held.gone(folder)


def test_kill_of_the_session(held: Held) -> None:
    """SIGKILL of the process that runs the pods: the launcher says so, and cleans up."""
    folder = held.until("request")
    processes.send(sessions(folder), signal.SIGKILL)
    _, said = held.launcher.communicate(timeout=10)

    assert b"without a report" in said
    assert held.gone(folder)


def test_kill_of_launcher_and_janitor(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are lost: the session lets go by itself, and the next rehearsal removes the folder."""
    folder = held.until("request")
    janitors = {
        pid
        for pid in processes.parents()
        if b"rehearse.janitor" in command(pid) and str(folder).encode() in command(pid)
    }
    # The janitor first: while it lives, it cleans up as soon as the launcher is gone.
    processes.send(janitors, signal.SIGKILL)
    held.launcher.kill()
    deadline = time.monotonic() + 10
    while processes.marked(str(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert set() == processes.marked(str(folder))
    assert folder.exists()

    monkeypatch.setattr("tempfile.tempdir", str(held.tmp))
    janitor.sweep()

    assert not folder.exists()


def test_clean_up_of_another_while_one_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal that sweeps at the moment when another has made its folder and not yet locked it leaves it alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    take = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        if not how & fcntl.LOCK_NB:
            janitor.sweep()
        take(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with launcher._state() as folder:
        there = folder.exists()

    assert there
    assert not folder.exists()


def test_interrupt(held: Held) -> None:
    """Ctrl-C ends what was kept: the pods are stopped as kubelet stops them, and the command ends well."""
    folder = held.until("request", "request")
    held.launcher.send_signal(signal.SIGINT)

    assert 0 == held.launcher.wait(timeout=15)
    assert held.gone(folder)


@pytest.mark.parametrize("network", NETWORKS)
def test_second_interrupt(tmp_path: Path, network: str) -> None:
    """Before the answer it ends with 130; a second one does not wait for a pod's grace period of a minute."""
    held = Held(tmp_path, network, "stubborn")
    folder = held.until("started", "started")
    held.launcher.send_signal(signal.SIGINT)
    time.sleep(1)

    assert held.launcher.poll() is None

    held.launcher.send_signal(signal.SIGINT)

    assert 130 == held.launcher.wait(timeout=15)
    assert held.gone(folder)

    held.close()


def test_side_by_side(tmp_path: Path) -> None:
    """Two rehearsals at once, each with its own pods at the same ports; one is killed, the other goes on."""
    network = "loopback" if namespaces() is None else "namespaces"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = Held(tmp_path / "a", network), Held(tmp_path / "b", network)
    folders = first.until("request", "request"), second.until("request", "request")
    first.launcher.kill()

    assert first.gone(folders[0])
    assert second.launcher.poll() is None
    assert processes.marked(str(folders[1]))

    second.launcher.send_signal(signal.SIGTERM)

    assert 0 == second.launcher.wait(timeout=15)
    assert second.gone(folders[1])

    first.close()
    second.close()


def sessions(folder: Path) -> set[int]:
    """Return the processes that run this rehearsal's pods."""
    return {pid for pid in processes.marked(str(folder)) if b"rehearse.session" in command(pid)}


def command(pid: int) -> bytes:
    """Return a process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
