"""Kueue's objects for a test: a queue in its namespace, with a quota that can be changed, or those of charts/queues."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ci.sim.folders import REPOSITORY

from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Manifest, Release

SELECTOR = "app.kubernetes.io/instance=queues"
QUEUES = REPOSITORY / "charts" / "queues"


def kueue_object(kind: str, name: str, spec: Manifest) -> Manifest:
    """Give an object of Kueue's own API."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


@contextmanager
def queue_of(release: Release, gpus: int, queue: str = "serving") -> Iterator[str]:
    """Make a local queue with quota for so many GPUs; its cluster-wide parts are named like the namespace."""
    name = release.namespace
    quota = [
        {"name": "cpu", "nominalQuota": 100},
        {"name": "nvidia.com/gpu", "nominalQuota": gpus},
    ]
    group = {"coveredResources": [each["name"] for each in quota], "flavors": [{"name": name, "resources": quota}]}
    mine = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    objects = [
        kueue_object("ResourceFlavor", name, {}),
        kueue_object("ClusterQueue", name, {"namespaceSelector": mine, "resourceGroups": [group]}),
        kueue_object("LocalQueue", queue, {"clusterQueue": name}),
    ]
    for item in objects:
        release.cluster.kubectl("create", std_input=json.dumps(item), namespace=name)
    try:
        yield queue
    finally:
        release.uninstall()
        release.cluster.kubectl("delete statefulset --all", namespace=name)
        release.cluster.kubectl(f"delete clusterqueue {name} --wait=false")
        release.cluster.kubectl(f"delete resourceflavor {name} --wait=false")


@contextmanager
def queues_of(release: Release, **more: Manifest) -> Iterator[Release]:
    """Install charts/queues with a queue for any four nodes; releases of the namespace go before it does."""
    pool = {
        "gpusPerNode": 8,
        "cpusPerNode": 100,
        "memoryGiBPerNode": 1024,
        "devicesPerNode": {"rdma/hca_shared_devices_a": 1},
        "nodeLabels": {"kubernetes.io/os": "linux"},
    }
    serving = {"namespaces": [release.namespace], "nodes": {"h200": 4}}
    queues = replace(release, chart=QUEUES, name="queues", site=None)
    queues.apply({"manager": "kueue", "pools": {"h200": pool}, "queues": {"serving": serving}, **more})
    try:
        yield queues
    finally:
        for name in json.loads(release.helm("list", "--short", "--output", "json").stdout):
            if name != queues.name:
                replace(release, name=name).uninstall()
        eventually("the pods to go", lambda: not release.get("pods"))
        queues.uninstall()
        kinds = "topologies.kueue.x-k8s.io,clusterqueues,resourceflavors"
        eventually("the queues to go", lambda: not release.cluster.kubectl(f"get {kinds} --selector={SELECTOR}"))


def set_quota(release: Release, gpus: int) -> None:
    """Change the quota for GPUs."""
    path = "/spec/resourceGroups/0/flavors/0/resources/1/nominalQuota"
    more = json.dumps([{"op": "replace", "path": path, "value": gpus}], separators=(",", ":"))
    release.cluster.kubectl(f"patch clusterqueue {release.namespace} --type=json --patch={more}")
