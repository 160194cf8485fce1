"""Command line: ``python -m ci.sim build | up | down | status``."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ci.sim import nodes
from ci.sim.build import BuildError, OutOfTimeError, build, built
from ci.sim.cluster import Cluster, ClusterError, clusters
from ci.sim.component import ADDONS, CORE, EVERY, ON_REQUEST, load

if TYPE_CHECKING:
    from pathlib import Path

    from ci.sim.component import Component


def main() -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m ci.sim", description="a simulated cluster on this machine")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("build", help="build what is not in the cache")
    command.add_argument("components", nargs="*", metavar="COMPONENT", help=f"of {', '.join(EVERY)}; default: all")
    command.add_argument("--budget", type=float, metavar="SECONDS", help="stop then; the next run goes on from there")
    command.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="packages compiled at once")

    command = commands.add_parser("up", help="start a cluster and stay until Ctrl-C")
    command.add_argument("--name", default="default")
    command.add_argument("--nodes", type=int, default=4, help="nodes with accelerators (%(default)s)")
    command.add_argument(
        "--accelerator",
        default="h200-8",
        metavar="PRESET",
        help=f"{', '.join(nodes.presets('accelerators'))} or a file",
    )
    command.add_argument("--fabric", metavar="PRESET", help=f"{', '.join(nodes.presets('fabrics'))} or a file")
    command.add_argument(
        "--with",
        dest="addons",
        metavar="NAMES",
        help=f"of {','.join(ADDONS + ON_REQUEST)}; default: those of {','.join(ADDONS)} that are built",
    )
    command.add_argument("--detach", action="store_true", help="return when it is up")

    command = commands.add_parser("down", help="end a cluster")
    command.add_argument("--name", help="default: all of them")

    commands.add_parser("status", help="say what is built and what runs")
    arguments = parser.parse_args()
    # Both end what was started. A shell without job control starts its background jobs with Ctrl-C ignored.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run = {"build": run_build, "up": run_up, "down": run_down, "status": run_status}[arguments.command]
        return run(arguments)
    except KeyboardInterrupt:
        print("\nsim: stopped", file=sys.stderr)
        return 130
    except (BuildError, ClusterError, ValueError, subprocess.SubprocessError) as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1


def run_build(arguments: argparse.Namespace) -> int:
    """Build in order; running out of the budget is no fault."""
    deadline = time.monotonic() + arguments.budget if arguments.budget is not None else None
    wanted = [load(name) for name in arguments.components or EVERY]
    try:
        for component in wanted:
            build(component, deadline, arguments.jobs)
    except OutOfTimeError as stopped:
        missing = ", ".join(component.name for component in wanted if not built(component))
        print(f"sim: the {arguments.budget:.0f} s are over in {stopped}; not built yet: {missing}; run again to go on")
        return 0
    print(f"sim: built: {', '.join(component.name for component in wanted)}")
    return 0


def run_up(arguments: argparse.Namespace) -> int:
    """Start a cluster and, unless detached, watch it until Ctrl-C."""
    asked = arguments.addons.split(",") if arguments.addons is not None else [a for a in ADDONS if built(load(a))]
    components: dict[str, tuple[Component, Path]] = {}
    for name in [*CORE, *filter(None, asked)]:
        component = load(name)
        folder = built(component)
        if not folder:
            raise ClusterError(f"{name} is not built: python -m ci.sim build {name}")
        components[name] = component, folder
    fabric = nodes.preset("fabrics", arguments.fabric) if arguments.fabric else None
    kind = nodes.read(nodes.preset("accelerators", arguments.accelerator), fabric)
    cluster = Cluster(arguments.name)
    cluster.up(components, kind, arguments.nodes)
    versions = ", ".join(f"{name} {component.version()}" for name, (component, _) in components.items())
    print(f"sim: cluster {cluster.name} is up after {cluster.state['seconds']} s: {versions}")
    devices = ", ".join(f"{amount} {name}" for name, amount in kind.devices.items())
    print(f"sim: {arguments.nodes} nodes of {devices} ({kind.name}); logs: {cluster.folder}/logs")
    print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
    if arguments.detach:
        return 0
    return watch(cluster)


def watch(cluster: Cluster) -> int:
    """Stay until Ctrl-C, until somebody else ends the cluster, or until a process of it dies."""
    print("sim: Ctrl-C ends it", flush=True)
    try:
        while cluster.running:
            time.sleep(0.5)
        for one in cluster.processes:
            if cluster.state.get("ready") and not one.alive:
                raise ClusterError(f"{one.name} ended by itself; the end of its log:\n{cluster.tail(one.name)}")
    except KeyboardInterrupt:
        print(f"\nsim: ending cluster {cluster.name}", flush=True)
    finally:
        cluster.end()
    return 0


def run_down(arguments: argparse.Namespace) -> int:
    """End one cluster or all."""
    for cluster in [Cluster(arguments.name)] if arguments.name else clusters():
        cluster.down()
        print(f"sim: cluster {cluster.name} is gone")
    return 0


def run_status(_: argparse.Namespace) -> int:
    """List components and clusters."""
    for name in EVERY:
        component = load(name)
        print(f"{name:<12} {component.version():<10} {built(component) or 'not built'}")
    for cluster in clusters():
        word = f"runs with {', '.join(cluster.addons) or 'no add-on'}" if cluster.running else "ended or broken"
        print(f"cluster {cluster.name}: {word}, {cluster.kubeconfig}")
    return 0


sys.exit(main())
