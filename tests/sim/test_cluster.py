"""What a killed run has left is found by its file and cleaned away."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from ci.sim import cluster, process
from ci.sim.cluster import Cluster, ClusterError, clusters
from ci.sim.component import Component, Process
from ci.sim.nodes import Kind

if TYPE_CHECKING:
    from pathlib import Path

KIND = Kind("x", "nvidia.com/gpu", {"nvidia.com/gpu": "8"}, {})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep clusters in a folder of the test."""
    monkeypatch.setattr(cluster, "CLUSTERS", tmp_path / "clusters")
    monkeypatch.setattr(cluster, "MEMORY", tmp_path)
    return tmp_path


def left(folder: Path, *, ready: bool) -> tuple[Cluster, process.Running]:
    """Give a cluster whose starter was killed: its file and one process are still there."""
    one = Cluster("default")
    (one.folder / "logs").mkdir(parents=True)
    memory = folder / "memory"
    memory.mkdir()
    running = process.start("etcd", ["sleep", "60"], os.environ, one.folder)
    one.remember(memory=str(memory), processes=[asdict(running)], ready=ready)
    return one, running


def fails(name: str) -> dict[str, tuple[Component, Path]]:
    """Give a component whose process ends at once."""
    from pathlib import Path

    process_ = Process("kube-apiserver", ("kube-apiserver",), ("false",), ("tcp://127.0.0.1:${port.kube-apiserver}",))
    return {name: (Component(name, {}, (process_,), "x"), Path("/bin"))}


def test_down_ends_what_a_killed_run_has_left(folder: Path) -> None:
    """Processes, memory and folder are gone."""
    one, running = left(folder, ready=True)

    one.down()

    assert not running.alive
    assert not (folder / "memory").exists()
    assert [] == clusters()


def test_up_cleans_a_broken_cluster_of_the_same_name(folder: Path) -> None:
    """A start that did not come to its end does not stand in the way of the next."""
    one, running = left(folder, ready=False)

    with pytest.raises(ClusterError, match="kube-apiserver ended"):
        one.up(fails("thing"), KIND, 1)

    assert not running.alive


def test_up_leaves_a_running_cluster_alone(folder: Path) -> None:
    """It says which one to use."""
    one, running = left(folder, ready=True)

    with pytest.raises(ClusterError, match="runs already"):
        one.up(fails("thing"), KIND, 1)

    assert running.alive
    one.down()


def test_a_failed_start_leaves_its_logs_and_nothing_running() -> None:
    """The message shows the end of the log of the process that ended."""
    one = Cluster("other")

    with pytest.raises(ClusterError, match="end of its log"):
        one.up(fails("thing"), KIND, 1)

    assert not one.running
    assert all(not each.alive for each in one.processes)
    assert (one.folder / "logs" / "kube-apiserver.log").exists()


def test_a_process_is_started_again_in_its_place(folder: Path) -> None:
    """With the same command; the order, in which a cluster is ended, stays."""
    one, running = left(folder, ready=True)
    after = process.start("kwok", ["sleep", "60"], os.environ, one.folder)
    one.remember(processes=[asdict(running), asdict(after)], commands={"etcd": [["sleep", "61"], dict(os.environ)]})

    one.restart("etcd")

    assert not running.alive
    assert ["etcd", "kwok"] == [each.name for each in one.processes]
    assert all(each.alive for each in one.processes)
    one.down()
