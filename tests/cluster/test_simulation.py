"""The simulated cluster itself: what its pods and nodes can be made to do, and that it ends without a trace.

Everything else in this suite trusts these.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from ci.sim import nodes
from ci.sim.cluster import Cluster
from ci.sim.folders import REPOSITORY

from tests.cluster.release import is_ready
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("simulation")


def start_pod(release: Release, name: str = "one", finalizer: str | None = None, **annotations: str) -> Manifest:
    """Create a bare pod with annotations of the simulation, ``start_delay`` for ``sim/start-delay``."""
    sim = {f"sim/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "annotations": sim, "finalizers": [finalizer] if finalizer else []}
    spec = {"containers": [{"name": "c", "image": "x"}], "terminationGracePeriodSeconds": 1}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    release.cluster.kubectl("create", std_input=json.dumps(pod), namespace=release.namespace)
    return pod


def phase(release: Release, name: str = "one") -> str:
    """Phase of a pod."""
    return str(release.one("pods", name)["status"].get("phase"))


def test_a_pod_is_ready_at_once(release: Release) -> None:
    """Without annotations a pod has an address and is Ready."""
    start_pod(release)

    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)

    assert release.one("pods", "one")["status"]["podIP"].startswith("10.244.")


def test_a_start_delay_keeps_a_pod_pending(release: Release) -> None:
    """As while an image is pulled: no address yet."""
    start_pod(release, start_delay="3s")
    time.sleep(1.5)
    early = release.one("pods", "one")["status"]

    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)

    assert ("Pending", None) == (early["phase"], early.get("podIP"))


def test_a_ready_delay_keeps_a_pod_running_and_not_ready(release: Release) -> None:
    """As while a model loads: it has an address and is not Ready."""
    start_pod(release, ready_delay="4s")
    eventually("the pod to run", lambda: phase(release) == "Running", limit=20)
    early = is_ready(release.one("pods", "one"))

    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)

    assert not early


def test_readiness_follows_an_annotation_both_ways(release: Release) -> None:
    """A sick pod becomes well again without a restart."""
    start_pod(release, not_ready="true")
    eventually("the pod to run", lambda: phase(release) == "Running", limit=20)
    first = is_ready(release.one("pods", "one"))

    release.annotate("one", "sim/not-ready-")
    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)
    release.annotate("one", "sim/not-ready=true")
    eventually("the pod not to be Ready", lambda: not is_ready(release.one("pods", "one")), limit=20)

    assert not first
    assert 0 == release.one("pods", "one")["status"]["containerStatuses"][0]["restartCount"]


def test_a_container_restarts_when_told(release: Release) -> None:
    """Of itself kwok never raises restartCount, which is what LeaderWorkerSet looks at."""
    start_pod(release)
    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)

    release.annotate("one", "sim/restarts=1")

    def restarted() -> Manifest | None:
        status: Manifest = release.one("pods", "one")["status"]["containerStatuses"][0]
        return status if status["restartCount"] == 1 else None

    assert "Error" == eventually("a restart", restarted, limit=20)["lastState"]["terminated"]["reason"]


def test_a_pod_fails_when_told(release: Release) -> None:
    """A Job or a hook of ``helm test`` can be made to fail."""
    start_pod(release, fail="true")

    assert eventually("the pod to fail", lambda: phase(release) == "Failed", limit=20)


def test_a_deleted_pod_stays_while_a_finalizer_holds_it(release: Release) -> None:
    """The kubelet's confirmation removes no finalizer: LeaderWorkerSet's foreground deletion depends on it."""
    start_pod(release, finalizer="example.com/held")
    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "one")), limit=20)

    release.delete_pod("one")
    time.sleep(2)
    held = release.one("pods", "one")["metadata"]
    patch = '{"metadata":{"finalizers":null}}'
    release.cluster.kubectl(f"patch pod one --type=merge --patch={patch}", namespace=release.namespace)

    assert ["example.com/held"] == held["finalizers"]
    assert eventually("the pod to go", lambda: not release.get("pods"), limit=20)


def test_a_lost_node_is_not_ready_and_its_pods_do_not_go(release: Release) -> None:
    """Nothing confirms a deletion there: the pod stays in Terminating until the node is back."""
    start_pod(release, lost="true")
    start_pod(release, name="two")
    eventually("the pod to be Ready", lambda: is_ready(release.one("pods", "two")), limit=20)
    release.cluster.kubectl("annotate node cpu-0 sim/lost=true")
    try:
        eventually("the node to be lost", lambda: ready_of(release, "cpu-0") == "Unknown", limit=20)
        release.delete_pod("one")
        time.sleep(3)
        assert "deletionTimestamp" in release.one("pods", "one")["metadata"]
    finally:
        release.cluster.kubectl("annotate node cpu-0 sim/lost-")
        release.annotate("one", "sim/lost-")
    eventually("the node to be back", lambda: ready_of(release, "cpu-0") == "True", limit=20)

    assert eventually("the pod to go", lambda: ["two"] == [each["metadata"]["name"] for each in release.get("pods")])


def ready_of(release: Release, node: str) -> str:
    """Status of a node's Ready condition."""
    conditions = release.one("nodes", node)["status"]["conditions"]
    return next(str(each["status"]) for each in conditions if each["type"] == "Ready")


def test_nodes_have_devices_a_taint_and_a_place(release: Release) -> None:
    """Eight nodes of eight, two to a rack."""
    listed = release.get("nodes", nodes.RACK)

    assert 8 == len(listed)
    assert {"8"} == {node["status"]["allocatable"]["nvidia.com/gpu"] for node in listed}
    assert 4 == len({node["metadata"]["labels"][nodes.RACK] for node in listed})


def test_a_second_cluster_runs_beside_this_one_and_ctrl_c_ends_it() -> None:
    """The command a person types: up, used, and gone with all of its processes."""
    name = f"second-{os.getpid()}"
    preset = nodes.presets("accelerators")[0]
    options = f"up --name {name} --nodes 1 --accelerator {preset} --with="
    command = [sys.executable, "-m", "ci.sim", *options.split()]
    try:
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as run:
            said = read_until(run, "Ctrl-C")
            processes = Cluster(name).processes
            kubeconfig = next(line.partition("=")[2] for line in said if line.startswith("export KUBECONFIG="))
            get = ["kubectl", "--kubeconfig", kubeconfig, "get", "nodes", "--output", "name"]
            seen = subprocess.run(get, capture_output=True, text=True, check=True).stdout.split()
            os.killpg(run.pid, signal.SIGINT)
            run.wait(timeout=60)
    finally:
        Cluster(name).down()

    assert ["node/cpu-0", "node/gpu-0"] == seen
    assert 0 == run.returncode
    assert [] == [process.name for process in processes if process.alive]


def read_until(run: subprocess.Popen[str], word: str) -> list[str]:
    """Read lines of a process up to the one that holds ``word``."""
    lines: list[str] = []
    for line in run.stdout or ():
        lines.append(line.strip())
        if word in line:
            break
    return lines
