"""The chart's own pods, with its launch scripts and its supervisor, from values to completions and through faults."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from lockstep import render, share
from lockstep.inputs import Input
from lockstep.rehearse.companions import SYSTEM
from lockstep.rehearse.faults import parse_fault
from lockstep.rehearse.launcher import namespaces, rehearse

from .builders import plan

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.rehearse.plan import Report

# Quick probes and no time for endpoints to spread; the group itself is that of a user.
QUICK = """
drain: {seconds: 5, propagationSeconds: 0}
pod: {probes: {startup: {periodSeconds: 1}, readiness: {periodSeconds: 1}}}
"""
TWO_NODES = """
model: {id: acme/tiny}
engine: {name: vllm}
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 2}
parallelism: {tensor: 2, pipeline: 2}
"""
# Weights that are not on this machine: their folder stands in the engine's arguments, on all ranks the same.
FROM_CLAIM = TWO_NODES + "weights: {source: pvc, claim: weights}\n"
FROM_NODES = TWO_NODES + "weights: {source: hostPath, path: /no/such/folder}\n"
# A folder of each pod's own volume, named in the arguments of all.
IN_OWN_VOLUME = TWO_NODES.replace("{name: vllm}", "{name: vllm, args: {download-dir: /tmp/weights}}")
ONE_NODE = """
model: {id: acme/tiny}
engine: {name: vllm}
stack: {name: deployment}
group: {nodes: 1, gpusPerNode: 2}
"""


def rehearsed(folder: Path, values: str, *faults: str, supervisor: bool = True) -> Report:
    """Render values with Helm and rehearse them."""
    file = folder / "model.yaml"
    file.write_text(
        f"{values}{QUICK}\nsupervisor: {{enabled: {str(supervisor).lower()}, stallSeconds: 10, deadlineSeconds: 3}}\n"
    )
    given = Input(file, (), share.folder("charts") / "serving", "model", "default")
    return rehearse(plan(render.objects(given), faults=tuple(map(parse_fault, faults)), timeout=60.0))


@pytest.mark.parametrize("supervisor", [True, False], ids=["supervisor", "no supervisor"])
@pytest.mark.parametrize("values", [TWO_NODES, ONE_NODE], ids=["two nodes, TP2 x PP2", "one node"])
def test_to_a_completion(tmp_path: Path, values: str, supervisor: bool) -> None:
    """Every pod becomes Ready and the Service answers, within the bound of fifteen seconds on a quiet machine."""
    report = rehearsed(tmp_path, values, supervisor=supervisor)

    assert ("", True) == (report.error, report.ok)
    assert report.answer


def restarts(report: Report) -> int:
    """Return how many containers were started again, or pods recreated."""
    ranks = {event.rank for event in report.events if event.kind == "started"}
    return sum(event.kind == "started" for event in report.events) - len(ranks)


@pytest.mark.parametrize("fault", ["kill worker@0", "kill leader@0", "exit worker@0 code=0"])
def test_lost_engine_is_restarted_in_place(tmp_path: Path, fault: str) -> None:
    """The supervisor brings the group back without any container restart."""
    report = rehearsed(tmp_path, TWO_NODES, fault)

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)
    assert any("reason=engine-exit" in event.text for event in report.events)


def test_lost_engine_without_supervisor_recreates_the_group(tmp_path: Path) -> None:
    """There the engine is the container, and LeaderWorkerSet replaces both pods."""
    report = rehearsed(tmp_path, TWO_NODES, "kill worker@0", supervisor=False)

    assert ("", True) == (report.error, report.ok)
    assert any("the controller deletes and recreates the group" in event.text for event in report.events)


@pytest.mark.parametrize(
    ("stack", "same"), [("kueue", True), ("grove", False)], ids=["kueue: under its name", "grove: under another name"]
)
def test_deleted_worker_comes_back_alone(tmp_path: Path, stack: str, same: bool) -> None:
    """Without a controller that recreates groups the new pod joins by itself, and the leader's stays."""
    report = rehearsed(tmp_path, FROM_CLAIM.replace("lws", stack), "replace worker@0")
    made = [(event.rank, event.pod) for event in report.events if event.kind == "created"]
    workers = [pod for rank, pod in made if rank == 1]

    assert ("", True) == (report.error, report.ok)
    assert (1, 2) == (len(made) - len(workers), len(workers))
    assert same is (workers[0] == workers[1])


NO_MPI = [tool for tool in ("mpirun", "sshd", "ssh") if shutil.which(tool, path=SYSTEM) is None]
ENGINES = {
    "sglang": "{name: sglang}",
    "trtllm": "{name: trtllm, sshSecret: {name: keys}, args: {config: {return_perf_metrics: true}}}",
    "ray": "{name: vllm, version: 0.17.1, executor: ray}",
}


@pytest.mark.parametrize(
    "engine",
    [
        "sglang",
        pytest.param(
            "trtllm",
            marks=pytest.mark.skipif(
                bool(NO_MPI) or namespaces() is None or os.geteuid() != 0,
                reason="needs root, network namespaces, Open MPI and OpenSSH (openmpi-bin, openssh-server)",
            ),
        ),
        pytest.param("ray", marks=pytest.mark.skipif(shutil.which("ray") is None, reason="needs Ray on PATH")),
    ],
)
def test_other_engines_are_restarted_in_place(tmp_path: Path, engine: str) -> None:
    """The same two nodes on SGLang, on TensorRT-LLM under real mpirun and ssh, on vLLM under real Ray."""
    report = rehearsed(tmp_path, TWO_NODES.replace("{name: vllm}", ENGINES[engine]), "kill worker@0")

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)
    assert any("reason=engine-exit" in event.text for event in report.events)


def test_hang_with_a_healthy_face(tmp_path: Path) -> None:
    """The engine's workers stand still while /health says 200: the supervisor notices by its stall bound."""
    report = rehearsed(tmp_path, TWO_NODES, "hang worker@0")

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)


@pytest.mark.skipif(namespaces() is None, reason="needs iproute2 and root or user namespaces")
def test_cut_is_fenced_and_healed(tmp_path: Path) -> None:
    """Past the deadline both sides stop their engines; healed, they meet again without a container restart."""
    report = rehearsed(tmp_path, IN_OWN_VOLUME, "cut worker@0 for=8")

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)
    assert {0, 1} == {event.rank for event in report.events if "-silent" in event.text}


def test_scripts_that_change_under_a_running_group(tmp_path: Path) -> None:
    """A changed ConfigMap reaches the volume, and neither the running group nor a restart in place minds."""
    report = rehearsed(tmp_path, TWO_NODES, "change-config worker@0", "kill worker@0.5")

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)


def test_pod_that_starts_late(tmp_path: Path) -> None:
    """The leader waits for a worker whose image is still being pulled, and no container restarts."""
    report = rehearsed(tmp_path, FROM_NODES, "delay worker for=5")

    assert ("", True) == (report.error, report.ok)
    assert 0 == restarts(report)
    assert 5.0 <= float(report.ready_seconds or 0)
