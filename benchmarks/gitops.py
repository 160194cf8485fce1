"""How long a commit takes to become a Healthy model through Argo CD, where the time goes, and how 200 at once do.

``python benchmarks/gitops.py [--applications N] [--commits N]``, on a simulated cluster of its own. A push is announced
to Argo CD as a Git host's webhook does. First single models, one commit each; then one commit that adds N models to the
one ApplicationSet; then single models again, beside those. Pods are Ready as soon as they are scheduled, so all of it
is machinery. Argo CD looks at everything again at its own pace, not at that of the simulated cluster: at 10 s two
hundred Applications leave it no time for anything else. Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ci.gitops.argocd import health, sync
from ci.gitops.fleet import Fleet
from ci.gitops.simulated import Simulated
from ci.sim import nodes
from ci.sim.build import built
from ci.sim.cluster import Cluster
from ci.sim.component import CORE, Component, load

LIMIT = 3600.0  # seconds
# As the simulated cluster has it, and as Argo CD does by default.
PACE = {"--app-resync=10": "--app-resync=120", "--app-resync-jitter=0": "--app-resync-jitter=60", "5s": "3m"}
CONFIG: dict[str, Any] = {"chart": "HEAD", "namespace": "serving", "presets": []}
VALUES: dict[str, Any] = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 1},
}


@dataclass
class Moments:
    """Seconds after a push at which a model was first seen so."""

    push: float = 0.0
    generated: float = 0.0
    compared: float = 0.0
    applied: float = 0.0
    healthy: float = 0.0


def deploy(fleet: Fleet, name: str) -> Moments:
    """Commit one model and watch it."""
    fleet.deploy("local", name, CONFIG, VALUES)
    began = time.monotonic()
    fleet.push(f"Serve {name}")
    seen = Moments(push=time.monotonic() - began)
    while not seen.healthy:
        found = fleet.argocd.applications().get(f"local.{name}", {})
        now = time.monotonic() - began
        if now > LIMIT:
            sys.exit(f"{name} was not Healthy within {LIMIT:.0f} s")
        seen.generated = seen.generated or (now if found else 0.0)
        seen.compared = seen.compared or (now if sync(found) else 0.0)
        seen.applied = seen.applied or (now if sync(found) == "Synced" else 0.0)
        seen.healthy = now if (sync(found), health(found)) == ("Synced", "Healthy") else 0.0
        time.sleep(0.1)
    return seen


def many(fleet: Fleet, count: int) -> list[tuple[float, int, int, int]]:
    """Commit so many models at once; give seconds and how many are there, Synced and Healthy, as they grow."""
    for number in range(count):
        fleet.deploy("local", f"many-{number}", CONFIG, VALUES)
    began, rows = time.monotonic(), [(0.0, 0, 0, 0)]
    fleet.push(f"Serve {count} models")
    while rows[-1][3] < count:
        found = [item for name, item in fleet.argocd.applications().items() if name.startswith("local.many-")]
        synced = [item for item in found if sync(item) == "Synced"]
        well = [item for item in synced if health(item) == "Healthy"]
        row = (time.monotonic() - began, len(found), len(synced), len(well))
        if row[0] > LIMIT:
            sys.exit(f"after {LIMIT:.0f} s {row[3]} of {count} are Healthy")
        if row[1:] != rows[-1][1:]:
            rows.append(row)
            sys.stderr.write(f"{row[0]:.0f} s: {row[1]} there, {row[2]} Synced, {row[3]} Healthy\n")
        time.sleep(0.5)
    return rows


def unhurried(component: Component) -> Component:
    """Give a component whose processes look at everything again at Argo CD's own pace."""
    processes = tuple(
        replace(
            each,
            argv=tuple(PACE.get(word, word) for word in each.argv),
            environment={name: PACE.get(text, text) for name, text in each.environment.items()},
        )
        for each in component.processes
    )
    return replace(component, processes=processes)


def median(moments: list[Moments], step: str) -> float:
    """Give the median of one step."""
    return statistics.median(getattr(each, step) for each in moments)


def spent(cluster: Cluster) -> dict[str, float]:
    """CPU seconds of each process so far, with those of the helm and git processes that it has waited for."""
    return {one.name: one.cpu for one in cluster.processes}


def main() -> None:
    """Start a cluster, measure, end it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--applications", type=int, default=200, help="models of the one commit (%(default)s)")
    parser.add_argument("--commits", type=int, default=5, help="models of a commit each (%(default)s)")
    args = parser.parse_args()
    components = {name: load(name) for name in (*CORE, "lws", "argocd")}
    folders = {name: built(component) for name, component in components.items()}
    if missing := [name for name, folder in folders.items() if not folder]:
        sys.exit(f"not built yet: python -m ci.sim build {' '.join(missing)}")
    cluster = Cluster(f"benchmark-gitops-{os.getpid()}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else its processes would stay
    try:
        gpus = 2 * (args.applications + 2 * args.commits)
        kind = nodes.read(nodes.preset("accelerators", "h200-8"))
        cluster.up(
            {name: (unhurried(components[name]), folder) for name, folder in folders.items() if folder},
            kind,
            gpus // 8 + 1,
        )
        print(f"cluster with Argo CD up after {cluster.state['seconds']} s, load {os.getloadavg()[0]:.1f}")
        with tempfile.TemporaryDirectory() as folder:
            fleet = Fleet(Simulated(cluster), Path(folder) / "platform")
            began = time.monotonic()
            fleet.bootstrap()
            while sync(fleet.argocd.applications().get("root", {})) != "Synced":
                time.sleep(0.1)
            print(f"bootstrapped after {time.monotonic() - began:.1f} s more")
            first = [deploy(fleet, f"one-{number}") for number in range(args.commits)]
            print(f"load {os.getloadavg()[0]:.1f}", flush=True)
            before = spent(cluster)
            rows = many(fleet, args.applications)
            after = spent(cluster)
            print(f"load {os.getloadavg()[0]:.1f}", flush=True)
            later = [deploy(fleet, f"more-{number}") for number in range(args.commits)]
        steps = ("push", "generated", "compared", "applied", "healthy")
        print(f"\n| one model, seconds since its push began, median of {args.commits} | {' | '.join(steps)} |")
        print("|" + " --- |" * 6)
        for name, moments in (("alone", first), (f"beside {args.applications} others", later)):
            print(f"| {name} | {' | '.join(f'{median(moments, step):.1f}' for step in steps)} |")
        print(f"\n| {args.applications} models in one commit, seconds | there | Synced | Healthy |\n|" + " --- |" * 4)
        for row in rows[:: max(1, len(rows) // 12)] + rows[-1:]:
            print(f"| {row[0]:.1f} | {row[1]} | {row[2]} | {row[3]} |")
        names = sorted(after, key=lambda name: before[name] - after[name])
        print(f"\n| CPU seconds | {' | '.join(names)} |\n|" + " --- |" * (len(names) + 1))
        print(f"| {args.applications} models | {' | '.join(f'{after[name] - before[name]:.1f}' for name in names)} |")
    finally:
        cluster.down()


if __name__ == "__main__":
    main()
