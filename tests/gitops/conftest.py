"""Fixtures of the GitOps suite: a simulated cluster with Argo CD, and a repository that it follows."""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING

import pytest
from ci.sim.argocd import sync
from ci.sim.build import built
from ci.sim.component import load
from ci.sim.fleet import Fleet
from ci.sim.folders import REPOSITORY, program

from tests.cluster import clusters, waiting
from tests.cluster.waiting import eventually
from tests.gitops.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ci.sim.cluster import Cluster as Simulated
    from pytest_helm_charts.clusters import Cluster

HERE = REPOSITORY / "tests" / "gitops"
ADDONS = ("lws", "kueue", "argocd")


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
    if kind in ("kind", "existing"):
        return (
            "--cluster-type sim: they push to its Git server, restart its processes and make its pods slow and sick; "
            "on a cluster with real pods argocd/README.md takes the same steps by hand"
        )
    if kind != "sim":
        return "--cluster-type sim"
    missing = [name for name in ADDONS if not built(load(name))]
    build = f"{', '.join(missing)} of the simulated cluster: python -m ci.sim build {' '.join(missing)}"
    return clusters.wanting(kind) or (build if missing else "")


@pytest.fixture(scope="session")
def hub() -> Iterator[Simulated]:
    """Start the cluster where Argo CD runs."""
    clusters.clean()
    cluster = clusters.start_simulated(f"test-{os.getpid()}", ADDONS)
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def kube_config(hub: Simulated) -> str:
    """Path of its kubeconfig; everything of pytest-helm-charts follows from it."""
    os.environ["PATH"] = f"{program('kubectl').parent}{os.pathsep}{os.environ['PATH']}"
    return str(hub.kubeconfig)


@pytest.fixture(scope="session")
def fleet(hub: Simulated, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Bootstrap Argo CD as argocd/README.md says, from a repository with this checkout's files."""
    fleet = Fleet(hub, tmp_path_factory.mktemp("platform"))
    fleet.bootstrap()
    eventually("the fleet's own objects", lambda: sync(fleet.argocd.applications()["root"]) == "Synced")
    return fleet


@pytest.fixture(scope="module", autouse=True)
def limit() -> None:
    """Wait longer than for Helm: a commit passes five programs more before the first pod is made."""
    waiting.LIMIT = 2 * waiting.SIMULATED


@pytest.fixture
def model(fleet: Fleet, kube_cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Model]:
    """Give a deployment of a name of its own, not yet committed; what it made goes with the test."""
    slug = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:20].strip("-")
    model = Model(fleet, kube_cluster, f"{slug}-{secrets.token_hex(2)}")
    yield model
    model.clear()
