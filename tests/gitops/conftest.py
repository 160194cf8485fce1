"""Fixtures of the GitOps suite: a cluster with Argo CD, and a repository that it follows."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ci.gitops.argocd import sync
from ci.gitops.fleet import Fleet
from ci.gitops.real import Real
from ci.gitops.simulated import Simulated
from ci.sim.build import built
from ci.sim.component import load
from ci.sim.folders import REPOSITORY, program

from tests.cluster import clusters, waiting
from tests.cluster.waiting import eventually
from tests.gitops.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ci.gitops.hub import Hub
    from ci.sim.cluster import Cluster
    from pytest_helm_charts.clusters import Cluster as Connected

HERE = REPOSITORY / "tests" / "gitops"
ADDONS = ("lws", "kueue", "argocd")
# The file of the fleet's values/ that holds those of the cluster.
SITE = "site"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test below this folder; without Argo CD one of them is left, to say that all are skipped."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.cluster)
    if (wanted := wanting(config.getoption("cluster_type"))) and ours:
        ours[0].add_marker(pytest.mark.skip(reason=f"all {len(ours)} tests through Argo CD: they need {wanted}"))
        items[:] = [item for item in items if item not in ours[1:]]
        config.hook.pytest_deselected(items=ours[1:])


def wanting(kind: str | None) -> str:
    """Say what is not there for this suite; empty when nothing is wanting."""
    if kind != "sim":
        return "" if kind in clusters.TYPES else f"--cluster-type {' or '.join(clusters.TYPES)}"
    missing = [name for name in ADDONS if not built(load(name))]
    build = f"{', '.join(missing)} of the simulated cluster: python -m ci.sim build {' '.join(missing)}"
    return clusters.wanting(kind) or (build if missing else "")


@pytest.fixture(scope="session")
def simulated(pytestconfig: pytest.Config) -> bool:
    """Whether pods are simulated here."""
    return bool(pytestconfig.getoption("cluster_type") == "sim")


@pytest.fixture(scope="session")
def cluster(simulated: bool) -> Iterator[Cluster | None]:
    """Start the simulated cluster where Argo CD runs, if that is what is asked for."""
    if not simulated:
        yield None
        return
    clusters.clean()
    cluster = clusters.start_simulated(f"test-{os.getpid()}", ADDONS)
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def kube_config(pytestconfig: pytest.Config, cluster: Cluster | None) -> Iterator[str]:
    """Path of the kubeconfig; everything of pytest-helm-charts follows from it."""
    os.environ["PATH"] = f"{program('kubectl').parent}{os.pathsep}{os.environ['PATH']}"
    if cluster:
        yield str(cluster.kubeconfig)
        return
    with clusters.kubeconfig(pytestconfig.getoption("cluster_type"), pytestconfig.getoption("kubeconfig")) as path:
        yield str(path)


@pytest.fixture(scope="session")
def hub(pytestconfig: pytest.Config, cluster: Cluster | None, kube_config: str) -> Iterator[Hub]:
    """Reach the cluster where Argo CD runs; one that is not simulated must have an Argo CD with nothing in it."""
    if cluster:
        yield Simulated(cluster)
        return
    with closing(Real(Path(kube_config))) as hub:
        if wrong := hub.unfit():
            pytest.exit(f"--cluster-type {pytestconfig.getoption('cluster_type')}: {wrong}", returncode=1)
        yield hub


@pytest.fixture(scope="session")
def site(pytestconfig: pytest.Config) -> Path | None:
    """Values of the cluster, beneath those of every model: ``--app-config-file-path``."""
    return clusters.site(pytestconfig)


@pytest.fixture(scope="session")
def fleet(hub: Hub, site: Path | None, simulated: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Bootstrap Argo CD as argocd/README.md says, from a repository with this checkout's files."""
    fleet = Fleet(hub, tmp_path_factory.mktemp("platform"))
    look = fleet.argocd.applications
    try:
        fleet.bootstrap()
        if site:
            fleet.repository.write(f"values/{SITE}.yaml", site.read_text())
        eventually("the fleet's own objects", lambda: sync(look()["root"]) == "Synced", limit=patience(simulated))
        yield fleet
    finally:
        if not simulated and "root" in look():
            # A model that is being removed needs its project until it is gone.
            with suppress(AssertionError):  # one that a failed test left does not go
                eventually("the models to go", lambda: len(look()) == 1, limit=waiting.SIMULATED)
            fleet.clear()
            eventually("the fleet to go", lambda: not look(), limit=patience(simulated))


def patience(simulated: bool) -> float:
    """Seconds to wait, more than for Helm: a commit passes five programs more before the first pod is made."""
    return 2 * (waiting.SIMULATED if simulated else waiting.REAL)


@pytest.fixture(scope="module", autouse=True)
def limit(simulated: bool) -> None:
    """Wait so long."""
    waiting.LIMIT = patience(simulated)


@pytest.fixture
def kueue(kube_cluster: Connected) -> None:
    """Skip without Kueue."""
    if "kueue.x-k8s.io/" not in kube_cluster.kubectl("api-versions", output_format=""):
        pytest.skip("the cluster has no Kueue")


@pytest.fixture
def make(fleet: Fleet, kube_cluster: Connected, simulated: bool, site: Path | None) -> Callable[..., Model]:
    """Give deployments of a name, on a cluster and beneath what its nodes need."""
    presets = ("accelerators/h200-8", "fabrics/infiniband") if simulated else ()

    def made(name: str, cluster: Connected = kube_cluster, destination: str = "local") -> Model:
        return Model(fleet, cluster, name, destination, presets, (SITE,) if site else ())

    return made


@pytest.fixture
def model(make: Callable[..., Model], request: pytest.FixtureRequest) -> Iterator[Model]:
    """Give a deployment of a name of its own, not yet committed; what it made goes with the test."""
    slug = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:20].strip("-")
    model = make(f"{slug}-{secrets.token_hex(2)}")
    yield model
    model.clear()
