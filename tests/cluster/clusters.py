"""Get a cluster for the suite: start a simulated one, or take the one that a kubeconfig names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ci.sim import nodes
from ci.sim.build import built
from ci.sim.cluster import Cluster, clusters
from ci.sim.component import ADDONS, CORE, load
from ci.sim.folders import REPOSITORY, program

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = ("sim", "kind", "existing")
# Values of the site, where a type of cluster has some.
VALUES = {"kind": REPOSITORY / "ci" / "kind" / "values.yaml"}
# Where ci/kind/up leaves its kubeconfig.
KIND = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockstep" / "kind" / "kubeconfig"
GPU_NODES = 8
# The presets that tests lay beneath their values.
PRESETS = (nodes.preset("accelerators", "h200-8"), nodes.preset("fabrics", "infiniband"))


def wanting(kind: str) -> str:
    """Say what is not there for a cluster of a type; empty when nothing is wanting."""
    if kind != "sim":
        return ""
    if missing := [part for part in CORE if not built(load(part))]:
        return f"{', '.join(missing)} of the simulated cluster: python -m ci.sim build"
    return "" if shutil.which("openssl") else "openssl on PATH"


def site(config: pytest.Config) -> Path | None:
    """Find the file with the values of the cluster, which lie beneath those of every test."""
    given = config.getoption("app_config_file_path") or VALUES.get(config.getoption("cluster_type"))
    if given and not Path(given).is_file():
        pytest.exit(f"--app-config-file-path: there is no file {given}", returncode=1)
    return Path(given) if given else None


@contextmanager
def kubeconfig(kind: str, option: str | None) -> Iterator[Path | str]:
    """Give the kubeconfig of a cluster of a type; what was started for it is ended afterwards."""
    if kind == "sim":
        clean()
        cluster = start_simulated(f"test-{os.getpid()}")
        try:
            yield cluster.kubeconfig
        finally:
            cluster.down()
        return
    given = option or (KIND if kind == "kind" else os.environ.get("KUBECONFIG"))
    if not given:
        wrong = "takes the cluster from --kubeconfig or KUBECONFIG, and neither is set"
    elif not Path(given).is_file():
        wrong = f"finds no kubeconfig {given}" + (": make kind" if kind == "kind" else "")
    else:
        wrong = silence(Path(given))
    if wrong:
        pytest.exit(f"--cluster-type {kind} {wrong}", returncode=1)
    yield str(given)


def silence(kubeconfig: Path) -> str:
    """Say why an API server does not answer; empty when it does."""
    command = [program("kubectl"), "--kubeconfig", kubeconfig, "get", "--raw", "/version", "--request-timeout", "20s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.strip().rpartition("\n")[2]
    return f"gets no answer from the cluster of {kubeconfig}: {said}" if done.returncode else ""


def clean() -> None:
    """End the clusters of runs that were killed before they could do it themselves."""
    for old in clusters():
        owner = re.fullmatch(r"test-(\d+)(-\w+)?", old.name)
        if owner and not Path("/proc", owner[1]).exists():
            old.down()


def start_simulated(name: str, addons: tuple[str, ...] = ADDONS) -> Cluster:
    """Start a simulated cluster with those of the add-ons that are built."""
    components = {part: (load(part), built(load(part))) for part in (*CORE, *addons)}
    cluster = Cluster(name)
    cluster.up(
        {part: (what, where) for part, (what, where) in components.items() if where}, nodes.read(*PRESETS), GPU_NODES
    )
    return cluster
