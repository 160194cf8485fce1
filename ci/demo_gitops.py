"""What `make demo-gitops` shows: a commit becomes a Healthy model, and a wrong layout is refused while it runs on."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ci.gitops.argocd import health, messages, sync
from ci.gitops.fleet import Fleet
from ci.gitops.simulated import Simulated
from ci.sim import nodes
from ci.sim.build import built
from ci.sim.cluster import Cluster, ClusterError
from ci.sim.component import CORE, load

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER = "demo-gitops"
NAME = "deepseek-r1"
APPLICATION = f"local.{NAME}"
LIMIT = 180.0  # seconds for one step
CONFIG = {"chart": "HEAD", "namespace": "serving", "presets": ["accelerators/h200-8", "fabrics/infiniband"]}


def values(tensor: int) -> dict[str, Any]:
    """Values of one group of two nodes; its simulated pods take 3 s to be Ready."""
    return {
        "model": {"id": "deepseek-ai/DeepSeek-R1"},
        "engine": {"name": "vllm"},
        "stack": {"name": "lws"},
        "group": {"nodes": 2, "gpusPerNode": 8},
        "parallelism": {"tensor": tensor, "pipeline": 2},
        "pod": {"annotations": {"sim/ready-delay": "3s"}},
    }


def say(text: str) -> None:
    """Print a heading of the demo."""
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def watch(fleet: Fleet, application: str, done: Callable[[dict[str, Any]], bool]) -> None:
    """Print each thing that Argo CD says of an Application until ``done``."""
    began, said = time.monotonic(), ""
    while time.monotonic() - began < LIMIT:
        found = fleet.argocd.applications().get(application, {})
        groups = [each.message for each in fleet.argocd.tree(application) if each.kind == "LeaderWorkerSet"]
        state = ", ".join(filter(None, [sync(found), health(found), *groups])) or "no Application yet"
        if state != said:
            print(f"  {time.monotonic() - began:5.1f} s  {application}: {state}", flush=True)
            said = state
        if done(found):
            return
        time.sleep(0.2)
    sys.exit(f"demo: nothing more came within {LIMIT:.0f} s; the logs are in {Cluster(CLUSTER).folder / 'logs'}")


def show(fleet: Fleet) -> None:
    """Commit a model, then a wrong layout, then its revert."""
    say("Bootstrap: one object by hand, bootstrap/root.yaml; the rest follows from Git")
    fleet.bootstrap()
    print(f"  a fork of this repository at {fleet.repository.url}")
    watch(fleet, "root", lambda found: sync(found) == "Synced")

    say(f"Commit argocd/deployments/local/{NAME}: two nodes, tensor 8 x pipeline 2")
    fleet.deploy("local", NAME, CONFIG, values(tensor=8))
    right = fleet.push("Serve DeepSeek-R1")
    watch(fleet, APPLICATION, lambda found: runs(found, right))

    say("Commit a wrong layout: tensor 6")
    fleet.deploy("local", NAME, CONFIG, values(tensor=6))
    fleet.push("Use six GPUs of eight")
    watch(fleet, APPLICATION, lambda found: any("PAR" in text for text in messages(found)))
    found = fleet.argocd.applications()[APPLICATION]
    refusal = next(text for text in messages(found) if "PAR" in text)
    print(f"  what its page shows, at its end: {refusal[refusal.index('PAR') :].splitlines()[0]}")
    print(f"  and the model runs on: {health(found)}")

    say("Revert it")
    fleet.repository.git("revert", "--no-edit", "HEAD")
    back = fleet.push("Revert")
    watch(fleet, APPLICATION, lambda found: runs(found, back))


def runs(application: dict[str, Any], revision: str) -> bool:
    """Whether a revision of Git is what runs, and well."""
    at = application.get("status", {}).get("sync", {}).get("revisions") or []
    return revision in at and (sync(application), health(application)) == ("Synced", "Healthy")


def main() -> None:
    """Start a cluster, show everything, end the cluster."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    components = {name: load(name) for name in (*CORE, "lws", "argocd")}
    folders = {name: built(component) for name, component in components.items()}
    if missing := [name for name, folder in folders.items() if not folder]:
        sys.exit(f"demo: not built yet: {', '.join(missing)}; python -m ci.sim build {' '.join(missing)}")
    say("A simulated cluster with LeaderWorkerSet and Argo CD, as processes on this machine")
    cluster = Cluster(CLUSTER)
    parts = {name: (components[name], folder) for name, folder in folders.items() if folder}
    kind = nodes.read(nodes.preset("accelerators", "h200-8"), nodes.preset("fabrics", "infiniband"))
    try:
        cluster.up(parts, kind, 4)
        print(f"  up after {cluster.state['seconds']} s; KUBECONFIG={cluster.kubeconfig}")
        with tempfile.TemporaryDirectory() as folder:
            show(Fleet(Simulated(cluster), Path(folder)))
    except (ClusterError, KeyboardInterrupt) as stopped:
        sys.exit(f"demo: {stopped or 'stopped'}")
    finally:
        cluster.down()
    print('\nEverything is ended. `make sim ARGS="--with lws,kueue,argocd"` starts such a cluster to stay.')


if __name__ == "__main__":
    main()
