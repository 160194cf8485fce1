"""What a killed engine leaves in shared memory is removed; what was there before, or is somebody's, stays."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from multiprocessing import shared_memory
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from group.processes import SharedMemory

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder in place of /dev/shm."""
    (tmp_path / "shm").mkdir()
    return tmp_path / "shm"


def fill(folder: Path, *names: str) -> None:
    """Make files that nobody holds."""
    for name in names:
        (folder / name).write_bytes(bytes(mmap.PAGESIZE))


def test_leftovers_are_removed(folder: Path) -> None:
    """What came with the engine goes with it, whatever made it; what was there before it stays."""
    fill(folder, "psm_before", "sem.mp-before")
    memory = SharedMemory(folder.with_name("memory"), folder)
    made = ["nccl-a1", "psm_4f2a", "sem.mp-x1", "torch_77_1", "vader_segment.node.0"]
    fill(folder, *made)

    assert made == memory.sweep()
    assert ["psm_before", "sem.mp-before"] == sorted(entry.name for entry in folder.iterdir())
    assert [] == memory.sweep()


@pytest.mark.parametrize(
    "hold",
    [
        "file = open(path, 'rb')",
        "import mmap; file = open(path, 'r+b'); held = mmap.mmap(file.fileno(), 0); file.close()",
        "import mmap, os; os.link(path, path + '-'); file = open(path + '-', 'r+b'); "
        "held = mmap.mmap(file.fileno(), 0); file.close(); os.unlink(path + '-')",
    ],
    ids=["open", "mapped", "mapped-under-another-name"],  # the last is how the C library makes a semaphore
)
def test_what_is_in_use_stays(folder: Path, hold: str) -> None:
    """What a living process holds is kept, and removed once that has ended."""
    memory = SharedMemory(folder.with_name("memory"), folder)
    fill(folder, "psm_held", "psm_left")
    program = f"import sys; path = sys.argv[1]; {hold}; print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder / "psm_held")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert b"held\n" == holder.stdout.readline()
        while_held = memory.sweep()
        holder.communicate(b"")

    assert ["psm_left"] == while_held
    assert ["psm_held"] == memory.sweep()


def test_what_is_in_use_stays_while_its_holder_opens_and_closes(folder: Path) -> None:
    """A file that its holder closes in the middle of the look hides none of the others."""
    memory = SharedMemory(folder.with_name("memory"), folder)
    fill(folder, "psm_held")
    program = (
        "import mmap, os, sys; file = open(sys.argv[1], 'r+b'); held = mmap.mmap(file.fileno(), 0); file.close(); "
        "print('held', flush=True)\nwhile True: [os.close(one) for one in [os.open('/dev/null', 0) for _ in range(20)]]"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(folder / "psm_held")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert b"held\n" == holder.stdout.readline()
        removed = [name for _ in range(30) for name in memory.sweep()]
        holder.kill()

    assert [] == removed


def test_only_plain_files_are_removed(folder: Path) -> None:
    """A folder, and whatever is in it, is nobody's segment."""
    memory = SharedMemory(folder.with_name("memory"), folder)
    (folder / "folder").mkdir()
    fill(folder / "folder", "psm_inside")

    assert [] == memory.sweep()
    assert (folder / "folder" / "psm_inside").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to make a file of another user")
def test_other_users_files_stay(folder: Path) -> None:
    """Another user's file stays, even where we could remove it."""
    memory = SharedMemory(folder.with_name("memory"), folder)
    fill(folder, "psm_theirs", "psm_ours")
    os.chown(folder / "psm_theirs", 65534, 65534)

    assert ["psm_ours"] == memory.sweep()


def names(group: Group) -> list[str]:
    """Return what the leader's engines have made in shared memory so far."""
    return (group.leader.control / "litter").read_text().split()


def test_restart_and_end(make_group: Callable[..., Group]) -> None:
    """A restart leaves nothing of the killed engine in /dev/shm, and the end of the group nothing at all."""
    group = make_group(1)
    group.leader.tell("litter")
    group.start()
    group.wait_serving()
    first = names(group)
    bystander = shared_memory.SharedMemory(create=True, size=4096)
    try:
        engine = group.leader.engine()
        assert engine
        there = [name for name in first if (SHARED_MEMORY / name).exists()]
        os.kill(engine, signal.SIGKILL)
        wait_for(lambda: len(names(group)) > len(first), "the next engine has made its own")
        left = [name for name in first if (SHARED_MEMORY / name).exists()]
        group.wait_serving()
        group.leader.send(signal.SIGTERM)
        code = group.leader.code()
        kept = (SHARED_MEMORY / bystander.name).exists()
    finally:
        bystander.close()
        bystander.unlink()

    assert ["psm", "sem.mp", "nccl", "torch"] == [name.replace("_", "-").rpartition("-")[0] for name in there]
    assert [] == left
    assert [] == [name for name in names(group) if (SHARED_MEMORY / name).exists()]
    assert "leftovers of the engine from /dev/shm" in group.leader.text()
    assert (0, True) == (code, kept)


def test_container_restart(make_group: Callable[..., Group]) -> None:
    """What a killed container left is removed by the next one of its pod, for /dev/shm lives as long as the pod."""
    group = make_group(1)
    group.leader.tell("litter")
    group.start()
    group.wait_serving()
    first = names(group)
    group.leader.kill()
    there = [name for name in first if (SHARED_MEMORY / name).exists()]
    group.leader.start()
    wait_for(lambda: len(names(group)) > len(first), "the next engine has made its own")
    left = [name for name in first if (SHARED_MEMORY / name).exists()]
    group.wait_serving()
    group.leader.send(signal.SIGTERM)

    assert 0 == group.leader.code()
    assert first == there
    assert [] == left
