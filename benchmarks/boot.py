"""Seconds from nothing to a simulated cluster whose nodes are Ready, and what it holds, with more and more add-ons.

    python benchmarks/boot.py [ROUNDS]        (default: 3)

The fastest round counts. Prints a table in Markdown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ci.sim import nodes
from ci.sim.build import built
from ci.sim.cluster import Cluster
from ci.sim.component import ADDONS, CORE, load

NODES = 8


def boot(names: tuple[str, ...]) -> tuple[float, float]:
    """Start and end a cluster of these components; return seconds to start it, and MiB."""
    parts = {name: (load(name), folder) for name in names if (folder := built(load(name)))}
    cluster = Cluster(f"boot-{os.getpid()}")
    try:
        cluster.up(parts, nodes.read(nodes.preset("accelerators", "h200-8")), NODES)
        return cluster.state["seconds"], sum(one.memory for one in cluster.processes)
    finally:
        cluster.down()


def main() -> None:
    """Measure, and print the table."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 3
    missing = [name for name in (*CORE, *ADDONS) if not built(load(name))]
    if missing:
        sys.stderr.write(f"not measured, as not built: {', '.join(missing)}\n")
    print("| cluster of 8 nodes | seconds | MiB | load |\n| --- | --- | --- | --- |")
    for count in range(len(ADDONS) + 1):
        names = (*CORE, *ADDONS[:count])
        if set(names) & set(missing):
            break
        seconds, size = min(boot(names) for _ in range(rounds))
        what = " + ".join(["core", *ADDONS[:count]])
        print(f"| {what} | {seconds:.1f} | {size:.0f} | {os.getloadavg()[0]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
