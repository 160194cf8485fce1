"""``ct install``: every values file under ``charts/*/ci`` is installed, tested with ``helm test`` and removed again."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from ci.sim import nodes
from ci.sim.folders import REPOSITORY, program

from tests.cluster.definitions import defined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_helm_charts.clusters import Cluster
    from pytest_helm_charts.k8s.fixtures import NamespaceFactoryFunc

    from tests.cluster.release import Manifest

pytestmark = pytest.mark.usefixtures("lws", "kueue")

# What the values files take for granted: namespaces with queues, and a node for pods that ask for this label.
NAMESPACES = ("serving", "batch", "research")
LABEL = {"example.com/gpu": "node-label"}


@pytest.fixture(scope="module")
def ready_made(simulated: bool, kube_cluster: Cluster, namespace_factory: NamespaceFactoryFunc) -> Iterator[str]:
    """Give a namespace on a cluster that has what the values files name; no cluster of somebody's is given that."""
    if not simulated:
        pytest.skip("makes namespaces, a node and a priority class of fixed names: --cluster-type sim")
    priority = {**named("PriorityClass", "priority-class"), "apiVersion": "scheduling.k8s.io/v1", "value": 1}
    made = [*(named("Namespace", each) for each in NAMESPACES), nodes.node("labelled", LABEL, {}, []), priority]
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    namespace = namespace_factory("chart-testing").name
    kube_cluster.kubectl("create", std_input=everything, output_format="")
    kube_cluster.kubectl("create serviceaccount account-name", namespace=namespace)
    with defined(kube_cluster):
        yield namespace
    kube_cluster.kubectl("delete --timeout=60s", std_input=everything, output_format="")


def named(kind: str, name: str) -> Manifest:
    """Give an object of core/v1 that is only a name."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


@pytest.mark.parametrize("chart", ["serving", "queues"])
def test_ct_installs_every_values_file(kube_cluster: Cluster, ready_made: str, chart: str) -> None:
    """Admitted, Ready where Helm can tell, and answering to ``helm test``."""
    if subprocess.run(["bash", "ci/ct", "version"], cwd=REPOSITORY, capture_output=True, check=False).returncode:
        pytest.skip("chart-testing is not built, which needs Go: bash ci/ct version")
    command = ["bash", "ci/ct", "install", "--charts", f"charts/{chart}", "--namespace", ready_made]
    command += ["--release-label", "app.kubernetes.io/instance", "--helm-extra-args", "--timeout 60s"]
    path = f"{program('helm').parent}:{os.environ['PATH']}"  # chart-testing starts helm and kubectl by name
    environment = {**os.environ, "KUBECONFIG": str(kube_cluster.kube_config_path), "PATH": path}

    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    files = sorted((REPOSITORY / "charts" / chart / "ci").glob("*-values.yaml"))

    assert 0 == done.returncode, done.stdout[-4000:] + done.stderr
    assert files
    assert len(files) == done.stdout.count("Installing chart with values file")
