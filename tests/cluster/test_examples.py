"""Each example, installed as it stands, becomes Ready with as many pods as it says; its Service finds who serves."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cluster.queues import queue_of
from tests.cluster.release import CHART, EXAMPLES
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("simulation")

API_GROUP = {
    "lws": "leaderworkerset.x-k8s.io",
    "kueue": "kueue.x-k8s.io",
    "grove": "grove.io",
    "deployment": "apps",
}
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_becomes_ready(release: Release, file: Path, api_groups: set[str]) -> None:
    """Pods, endpoints and the disruption budget agree on replicas and nodes."""
    values = yaml.safe_load(file.read_text())
    if (needed := API_GROUP[values["stack"]["name"]]) not in api_groups:
        pytest.skip(f"the cluster does not serve {needed}")
    device = values["group"].get("resourceName", DEFAULTS["group"]["resourceName"])
    if not any(device in node["status"]["allocatable"] for node in release.get("nodes")):
        pytest.skip(f"no node of the cluster offers {device}")
    replicas, nodes = values.get("replicas", DEFAULTS["replicas"]), values["group"]["nodes"]
    if claim := values.get("weights", {}).get("claim"):
        offer(release, claim)

    queue = values.get("queue", {}).get("name")
    with queue_of(release, 64, queue) if queue else nullcontext():
        release.helm("install", release.name, str(release.chart), "--values", str(file))
        assert_serves(release, values, replicas, nodes)


def assert_serves(release: Release, values: Manifest, replicas: int, nodes: int) -> None:
    """Compare pods, endpoints and budget with the values."""
    pods = release.ready(replicas * nodes)
    leaders = [pod for pod in pods if leads(pod, values["stack"]["name"])]
    all_serve = values.get("parallelism", {}).get("loadBalancing", "internal") != "internal"
    serving = sorted(pod["metadata"]["name"] for pod in (pods if all_serve else leaders))
    assert replicas == len(leaders)
    assert serving == eventually(
        "endpoints", lambda: found if len(found := release.endpoints()) == len(serving) else None
    )
    assert eventually("a budget that counts every pod", lambda: healthy(release) == replicas * nodes)


def leads(pod: Manifest, stack: str) -> bool:
    """Whether a pod is rank 0 of its group. All ranks of a StatefulSet have one template; only their index differs."""
    labels = pod["metadata"]["labels"]
    index = "apps.kubernetes.io/pod-index"
    return bool(labels[index] == "0" if stack == "kueue" else labels["lockstep/role"] == "leader")


def healthy(release: Release) -> int:
    """Count the pods that the disruption budget has found Ready."""
    return int(release.one("poddisruptionbudgets", f"{release.name}-pdb").get("status", {}).get("currentHealthy", 0))


def offer(release: Release, claim: str) -> None:
    """Make a bound claim, as an administrator does for weights."""
    volume = f"{claim}-{release.namespace}"
    common: Manifest = {
        "accessModes": ["ReadOnlyMany"],
        "storageClassName": "",
        "persistentVolumeReclaimPolicy": "Delete",
    }
    objects = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {**common, "capacity": {"storage": "1Ti"}, "hostPath": {"path": "/models"}},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim},
            "spec": {
                "accessModes": common["accessModes"],
                "storageClassName": "",
                "volumeName": volume,
                "resources": {"requests": {"storage": "1Ti"}},
            },
        },
    ]
    for item in objects:
        release.cluster.kubectl("create", std_input=json.dumps(item), namespace=release.namespace)
