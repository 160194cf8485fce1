"""Which engine a rehearsal finds, and which GPUs each node gets; machines with GPUs are faked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from lockstep.errors import LockstepError
from lockstep.rehearse.real_engine import EngineNotFoundError, find, shares, split, visible_gpus

if TYPE_CHECKING:
    from pathlib import Path


def put(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def machine(folder: Path, gpus: int) -> dict[str, str]:
    """Return the environment of a machine with a vLLM on its PATH and so many GPUs."""
    put(folder / "usr" / "bin" / "vllm")
    put(folder / "usr" / "bin" / "nvidia-smi", f"#!/bin/sh\nseq 0 {gpus - 1}\n" if gpus else "#!/bin/sh\nexit 9\n")
    return {"PATH": f"{folder / 'usr' / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "XDG_CACHE_HOME": str(folder)}


def cached(folder: Path, name: str, age: int) -> Path:
    """Make a venv as ci/engine-cpu/install leaves it."""
    put(folder / "lockstep" / name / "bin" / "vllm")
    stamp = put(folder / "lockstep" / name / "engine.json", "{}")
    os.utime(stamp, (1_000_000 - age, 1_000_000 - age))
    return stamp.parent


def test_nothing_installed_says_how_to_get_one(tmp_path: Path) -> None:
    """Without any engine the message names the command that installs one."""
    with pytest.raises(EngineNotFoundError, match="make engine-cpu"):
        find({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})


def test_newest_of_the_cached_engines_is_taken(tmp_path: Path) -> None:
    """After the lock list changed, the venv of the old one is there still and is not used."""
    cached(tmp_path, "engine-cpu-aaa", age=5)
    newer = cached(tmp_path, "engine-cpu-bbb", age=1)
    cached(tmp_path, "engine-cpu-ccc", age=9)
    found = find({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})

    assert (newer, True) == (found.folder, found.cpu_only)


def test_unfinished_installation_is_not_found(tmp_path: Path) -> None:
    """A venv without the stamp was left by an installation that did not end."""
    (cached(tmp_path, "engine-cpu-aaa", age=1) / "engine.json").unlink()
    with pytest.raises(EngineNotFoundError):
        find({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})


def test_engine_on_the_path_comes_before_the_cache(tmp_path: Path) -> None:
    """Who has vLLM installed means that one."""
    cached(tmp_path, "engine-cpu-aaa", age=1)
    found = find(machine(tmp_path, gpus=8))

    assert (tmp_path / "usr", False) == (found.folder, found.cpu_only)


def test_named_engine_comes_first(tmp_path: Path) -> None:
    """The variable wins over PATH and cache."""
    named = cached(tmp_path, "engine-cpu-aaa", age=1)
    found = find({**machine(tmp_path, gpus=8), "LOCKSTEP_ENGINE_FOLDER": str(named)})

    assert (named, True) == (found.folder, found.cpu_only)


def test_wrong_name_is_refused(tmp_path: Path) -> None:
    """A variable that leads nowhere is an error, not a reason to take another engine."""
    with pytest.raises(EngineNotFoundError, match=r"no .*/nowhere/bin/vllm"):
        find({**machine(tmp_path, gpus=8), "LOCKSTEP_ENGINE_FOLDER": str(tmp_path / "nowhere")})


@pytest.mark.parametrize(
    ("nodes", "per_node", "expected"),
    [
        pytest.param(2, 4, ["0,1,2,3", "4,5,6,7"], id="two-by-four"),
        pytest.param(4, 2, ["0,1", "2,3", "4,5", "6,7"], id="four-by-two"),
        pytest.param(2, 2, ["0,1", "2,3"], id="some-are-left"),
        pytest.param(1, 8, ["0,1,2,3,4,5,6,7"], id="one-node"),
    ],
)
def test_each_node_sees_only_its_share(nodes: int, per_node: int, expected: list[str], tmp_path: Path) -> None:
    """One server with 8 GPUs holds all nodes of the group, and no GPU is in two of them."""
    environ = machine(tmp_path, gpus=8)
    found = [share.environment(environ)["CUDA_VISIBLE_DEVICES"] for share in shares(environ, nodes, per_node)]

    assert expected == found


def test_visible_devices_of_the_caller_are_the_whole(tmp_path: Path) -> None:
    """Who may use some GPUs only, by index or by UUID, gets those divided."""
    environ = {**machine(tmp_path, gpus=8), "CUDA_VISIBLE_DEVICES": "GPU-5a,GPU-6b, 3,1"}

    assert [("GPU-5a", "GPU-6b"), ("3", "1")] == [share.gpus for share in shares(environ, 2, 2)]


def test_too_few_gpus_are_refused_with_what_fits(tmp_path: Path) -> None:
    """The message has the numbers and the size that this machine could hold."""
    message = "2 nodes with 8 GPUs each, 16 in all, and this machine shows 8: .* group.gpusPerNode 4"
    with pytest.raises(LockstepError, match=message):
        shares(machine(tmp_path, gpus=8), 2, 8)


def test_fewer_gpus_than_nodes_leave_the_stand_in() -> None:
    """Where not even one GPU for each node is there, no smaller size is suggested."""
    with pytest.raises(LockstepError, match="shows 3: rehearse with the stand-in"):
        split(["0", "1", "2"], 4, 2)


def test_machine_without_gpus_divides_nothing(tmp_path: Path) -> None:
    """nvidia-smi without a driver, or none at all, means CPU: no node sees a device."""
    environ = machine(tmp_path, gpus=0)

    assert () == visible_gpus(environ)
    assert ["", ""] == [share.environment(environ)["CUDA_VISIBLE_DEVICES"] for share in shares(environ, 2, 8)]


def test_cpu_build_leaves_gpus_alone(tmp_path: Path) -> None:
    """The engine that make engine-cpu installs runs any layout without GPUs, also on a machine that has some."""
    named = cached(tmp_path, "engine-cpu-aaa", age=1)
    environ = {**machine(tmp_path, gpus=8), "LOCKSTEP_ENGINE_FOLDER": str(named)}
    first, second = shares(environ, 2, 8)

    assert ((), ()) == (first.gpus, second.gpus)
    assert first.environment(environ)["PATH"].startswith(f"{named / 'bin'}{os.pathsep}")
