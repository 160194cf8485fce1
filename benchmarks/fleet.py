"""Seconds until all groups of a large simulated cluster are Ready, and where they go.

    python benchmarks/fleet.py [NODES GROUPS]        (default: 1000 200)

A cluster of its own (docs/simulated-cluster.md), one release with groups of two whole nodes each: on LeaderWorkerSet
alone and on LeaderWorkerSet under Kueue with quota for all. Prints tables in Markdown.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from ci.sim import nodes
from ci.sim.api import Api, administrator
from ci.sim.build import built
from ci.sim.cluster import Cluster
from ci.sim.component import CORE, load
from ci.sim.folders import REPOSITORY, program

NAMESPACE = "fleet"
PATIENCE = 1800.0  # seconds
STACKS = {"LeaderWorkerSet": {}, "LeaderWorkerSet under Kueue": {"queue": {"manager": "kueue", "name": "fleet"}}}


@dataclass(frozen=True)
class Fleet:
    """One cluster with room for the groups."""

    cluster: Cluster
    api: Api
    groups: int

    def run(self, stack: str, more: dict[str, Any]) -> list[str]:
        """Install one release, wait until all of its pods are Ready, remove it, and return rows of both tables."""
        before = self.spent()
        values = {
            "model": {"id": "deepseek-ai/DeepSeek-R1"},
            "engine": {"name": "vllm"},
            "stack": {"name": "lws"},
            "group": {"nodes": 2, "gpusPerNode": 8},
            "replicas": self.groups,
            **more,
        }
        began = time.time()
        self.helm("install", "fleet", str(REPOSITORY / "charts" / "serving"), "--values", "-", values=values)
        installed = time.time() - began
        pods = self.ready(began)
        moments = {
            "created": [moment(pod["metadata"]["creationTimestamp"]) for pod in pods],
            "placed": [condition(pod, "PodScheduled") for pod in pods],
            "Ready": [condition(pod, "Ready") for pod in pods],
        }
        last = " | ".join(f"{max(found) - began:.0f}" for found in moments.values())
        half = sorted(moments["Ready"])[len(pods) // 2] - began
        spent = {name: seconds - before.get(name, 0.0) for name, seconds in self.spent().items()}
        row = f"| {stack} | {len(pods)} | {installed:.1f} | {half:.0f} | {last} |"
        use = " | ".join(f"{spent[name]:.1f}" for name in sorted(spent))
        sys.stderr.write(f"{row}\n{use}\n")
        self.helm("uninstall", "fleet")
        self.gone()
        return [row, f"| {stack} | {use} |"]

    def ready(self, began: float) -> list[dict[str, Any]]:
        """Wait for every pod."""
        while True:
            pods = self.pods()
            if sum(condition(pod, "Ready") > 0 for pod in pods) == 2 * self.groups:
                return pods
            if time.time() - began > PATIENCE:
                raise SystemExit(f"after {PATIENCE:.0f} s not all of {2 * self.groups} pods are Ready")
            time.sleep(1)

    def gone(self) -> None:
        """Wait until no pod is left."""
        deadline = time.monotonic() + PATIENCE
        while self.pods() and time.monotonic() < deadline:
            time.sleep(1)

    def pods(self) -> list[dict[str, Any]]:
        """List the pods."""
        found: list[dict[str, Any]] = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
        return found

    def helm(self, *arguments: str, values: dict[str, Any] | None = None) -> None:
        """Run Helm."""
        where = ["--kubeconfig", str(self.cluster.kubeconfig), "--namespace", NAMESPACE]
        text = yaml.safe_dump(values) if values else None
        subprocess.run(
            [program("helm"), *arguments, *where], input=text, text=True, check=True, stdout=subprocess.DEVNULL
        )

    def spent(self) -> dict[str, float]:
        """CPU seconds of each process so far."""
        return {one.name: one.cpu for one in self.cluster.processes}


def moment(text: str) -> float:
    """Seconds since the epoch; the API server writes whole ones."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def condition(pod: dict[str, Any], kind: str) -> float:
    """When a condition of a pod began to hold; 0 when it does not."""
    found = [each for each in pod["status"].get("conditions") or [] if each["type"] == kind]
    return moment(found[0]["lastTransitionTime"]) if found and found[0]["status"] == "True" else 0.0


def queue(api: Api, groups: int) -> None:
    """Make a queue with quota for all groups."""
    amounts = {"cpu": 1000 * groups, "nvidia.com/gpu": 16 * groups}
    quota = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    group = {"coveredResources": list(amounts), "flavors": [{"name": "fleet", "resources": quota}]}
    objects: dict[str, tuple[str, dict[str, Any]]] = {
        "resourceflavors": ("ResourceFlavor", {}),
        "clusterqueues": ("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [group]}),
        f"namespaces/{NAMESPACE}/localqueues": ("LocalQueue", {"clusterQueue": "fleet"}),
    }
    for path, (kind, spec) in objects.items():
        item = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "fleet"}, "spec": spec}
        api.create(f"/apis/kueue.x-k8s.io/v1beta2/{path}", item)


def main() -> None:
    """Measure, and print the tables."""
    count, groups = (int(word) for word in (sys.argv[1:3] or ("1000", "200")))
    parts = {}
    for name in (*CORE, "lws", "kueue"):
        folder = built(load(name))
        if not folder:
            raise SystemExit(f"{name} is not built: python -m ci.sim build {name}")
        parts[name] = load(name), folder
    cluster = Cluster(f"fleet-{os.getpid()}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else its processes would stay
    try:
        cluster.up(parts, nodes.read(nodes.preset("accelerators", "h200-8")), count)
        print(
            f"{count} nodes Ready {cluster.state['seconds']} s after nothing; load {os.getloadavg()[1]:.1f}\n",
            flush=True,
        )
        with closing(Api(administrator(cluster.state["ports"]["kube-apiserver"], cluster.folder / "pki"))) as api:
            api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            queue(api, groups)
            fleet = Fleet(cluster, api, groups)
            rows = [fleet.run(stack, more) for stack, more in STACKS.items()]
            names = sorted(fleet.spent())
        sizes = " | ".join(f"{one.memory:.0f}" for one in sorted(cluster.processes, key=lambda one: one.name))
        print(f"load {os.getloadavg()[1]:.1f}\n")
    finally:
        cluster.down()
    print("| | pods | helm install, s | half Ready, s | all created, s | all placed, s | all Ready, s |")
    print("|" + " --- |" * 7)
    print("\n".join(first for first, _ in rows))
    print(f"\n| CPU seconds | {' | '.join(names)} |\n|{' --- |' * (len(names) + 1)}")
    print("\n".join(second for _, second in rows))
    print(f"| MiB at the end | {sizes} |")


if __name__ == "__main__":
    main()
