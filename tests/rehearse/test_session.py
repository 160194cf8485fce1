"""Whole rehearsals: two stand-in nodes to a completion, each kind of fault, and every way to fail."""

from __future__ import annotations

import shutil
import socket
from contextlib import ExitStack

import pytest

from lockstep.rehearse.faults import parse_fault
from lockstep.rehearse.launcher import namespaces, rehearse

from .builders import CONTRACT, ENGINE, container, deployment, lws, plan, pod_template, service, worker

NETWORKS = [
    "loopback",
    pytest.param(
        "namespaces",
        marks=pytest.mark.skipif(namespaces() is None, reason="needs iproute2 and root or user namespaces"),
    ),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_two_nodes_to_a_completion(network: str) -> None:
    """The group becomes Ready, answers, and stops."""
    report = rehearse(plan(lws()), network)

    assert ("", True, network) == (report.error, report.ok, report.network)
    assert 10 < len(report.answer.split())
    assert {"deleted", "ready", "request"} <= {event.kind for event in report.events}


def test_one_node() -> None:
    """A Deployment is rehearsed the same way."""
    report = rehearse(plan(deployment()), "loopback")

    assert ("", True) == (report.error, report.ok)


def test_same_answer_on_any_layout() -> None:
    """The stand-in's text depends on prompt and seed, not on the layout."""
    answers = {rehearse(plan(objects), "loopback").answer for objects in (lws(), deployment())}

    assert 1 == len(answers)


@pytest.mark.parametrize("network", NETWORKS)
def test_killed_worker_recreates_the_group(network: str) -> None:
    """Without a supervisor the engine is the container: it restarts, the controller recreates, it serves again."""
    report = rehearse(plan(lws(), faults=(parse_fault("kill worker@0.5"),)), network)
    kinds = [event.kind for event in report.events]

    assert ("", True) == (report.error, report.ok)
    assert report.recovered_seconds is not None
    assert kinds.index("fault") < kinds.index("exited")
    assert any("recreates the group" in event.text for event in report.events)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("container ended with exit code 7", "exit worker@0 code=7"),
        ("a.*was deleted|was deleted", "replace worker@0"),
        ("stop of rank 1 is over", "stop worker@0 for=5"),
        ("container ended with exit code 0", "term worker@0"),
    ],
    ids=lambda value: value.split()[0],
)
def test_faults_of_a_worker(said: str, fault: str) -> None:
    """Each is done, shows in the timeline, and the group serves again."""
    report = rehearse(plan(lws(), faults=(parse_fault(fault),)), "loopback")

    assert ("", True) == (report.error, report.ok)
    assert any(said.split("|")[-1] in event.text for event in report.events)


@pytest.mark.parametrize("network", NETWORKS[1:])
def test_cut_and_heal(network: str) -> None:
    """While a worker is cut off requests hang; TCP goes on where it stopped once the cut is healed.

    The time until it serves again counts from the cut, whatever else was done before.
    """
    script = (parse_fault("cut worker@1 for=5"), parse_fault("change-config leader@0"))
    report = rehearse(plan(lws(), faults=script), network)
    cut, again = (
        next(event.at for event in report.events if event.text.startswith(text)) for text in ("cut worker", "serving")
    )

    assert ("", True) == (report.error, report.ok)
    assert "not served: no answer in time" in [event.text for event in report.events if event.kind == "request"]
    assert pytest.approx(report.recovered_seconds, abs=0.1) == again - cut
    assert 4.0 <= again - cut


def test_ends_of_two_containers() -> None:
    """Each is waited for since its own fault: on a stack without recreation the first ended before the second."""
    script = (parse_fault("term leader@0"), parse_fault("term worker@1.5"))
    report = rehearse(plan(lws(policy="None"), faults=script), "loopback")

    assert ("", True) == (report.error, report.ok)


def test_slow_joiner() -> None:
    """A pod that starts later is waited for."""
    report = rehearse(plan(lws(), faults=(parse_fault("delay worker for=3"),)), "loopback")

    assert ("", True) == (report.error, report.ok)
    assert 4.0 <= float(report.ready_seconds or 0)


def test_slow_load() -> None:
    """One rank that loads longer holds all."""
    report = rehearse(plan(lws(), faults=(parse_fault("slow-load worker for=2"),)), "loopback")

    assert ("", True) == (report.error, report.ok)
    assert 3.0 <= float(report.ready_seconds or 0)


def test_engine_that_dies_at_start() -> None:
    """One message with the exit code and the engine's last words; exit code 1."""
    broken = ENGINE.replace("vllm serve tiny", "vllm serve tiny --swap-space 4")
    report = rehearse(plan(lws(workers=pod_template(worker() | {"command": ["bash", "-c", broken]}))), "loopback")

    assert (False, 1) == (report.ok, report.exit_code)
    assert "model-0-1 (worker-1): container ended with exit code 2 before the group was Ready" in report.error
    assert "unrecognized arguments: --swap-space 4" in report.error


def test_group_that_never_gets_ready() -> None:
    """The bound ends it, and the message says in which state each pod was."""
    workers = pod_template(worker() | {"command": ["sleep", "60"]})
    report = rehearse(plan(lws(workers=workers), timeout=2.0), "loopback")

    assert (False, 1) == (report.ok, report.exit_code)
    assert "the group was not Ready within 2 s (model-0 Running, model-0-1 Running)" == report.error


def test_port_in_use() -> None:
    """A program that listens on all addresses takes the pods' port: said before anything starts; exit code 2."""
    with ExitStack() as stack:
        taken = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        port = taken.getsockname()[1]
        made = container(ports=[{"name": "http", "containerPort": port}])
        report = rehearse(plan(lws(leader=pod_template(made))), "loopback")

    assert 2 == report.exit_code
    assert f"port {port} is in use on 127." in report.error
    assert [] == [event.kind for event in report.events if event.kind == "started"]


ODD_FIELD = {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "y"}}}
IMPOSSIBLE = {
    "no engine": ("no container has LOCKSTEP_ENGINE", {"env": []}),
    "no field": ("env X: kubelet knows no field y", {"env": [*CONTRACT, ODD_FIELD]}),
    "no port": ("port 'htp' is none of the container's", {"readinessProbe": {"httpGet": {"port": "htp"}}}),
    "no handler": ("the liveness probe has no handler", {"livenessProbe": {"grpc": {"port": 1}}}),
    "no command": ("has no command", {"command": []}),
}


@pytest.mark.parametrize(("message", "fields"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_containers_that_cannot_be_rehearsed(message: str, fields: dict[str, object]) -> None:
    """One message, exit code 2, before anything is started."""
    report = rehearse(plan(lws(leader=pod_template(container(**fields)))), "loopback")

    assert 2 == report.exit_code
    assert message in report.error


@pytest.mark.parametrize(
    ("message", "variables"),
    [
        ("there is no 'ray' on PATH", {"LOCKSTEP_EXECUTOR": "ray"}),
        ("needs network namespaces made by root", {"LOCKSTEP_ENGINE": "trtllm"}),
    ],
    ids=["ray", "mpi"],
)
def test_engine_whose_companions_are_missing(
    message: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an engine needs beside the stand-in is asked for before anything starts."""
    if "LOCKSTEP_ENGINE" in variables and shutil.which("mpirun") is None:
        pytest.skip("needs Open MPI and OpenSSH (openmpi-bin, openssh-server)")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    env = [{"name": name, "value": value} for name, value in ({"LOCKSTEP_ENGINE": "vllm"} | variables).items()]
    report = rehearse(plan(lws(leader=pod_template(container(env=env)))), "loopback")

    assert 2 == report.exit_code
    assert message in report.error


def test_nothing_to_rehearse() -> None:
    """A release without a group says what it has instead."""
    report = rehearse(plan([service()]), "loopback")

    assert 2 == report.exit_code
    assert "PodCliqueSet, Deployment, but the chart rendered Service" in report.error


def test_config_map_that_is_missing() -> None:
    """A pod that would hang in ContainerCreating is one message."""
    template = pod_template(volumes=[{"name": "x", "configMap": {"name": "gone"}}])
    report = rehearse(plan(lws(leader=template)), "loopback")

    assert 2 == report.exit_code
    assert "ConfigMap gone was not rendered" in report.error
