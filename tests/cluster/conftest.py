"""Fixtures of the cluster suite, on top of those of pytest-helm-charts."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from ci.sim.folders import REPOSITORY, program

from tests.cluster import clusters, waiting
from tests.cluster.definitions import defined
from tests.cluster.release import CHART, Release
from tests.cluster.times import Times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_helm_charts.clusters import Cluster
    from pytest_helm_charts.k8s.fixtures import NamespaceFactoryFunc

HERE = REPOSITORY / "tests" / "cluster"
LEFT = REPOSITORY / "build" / "cluster"
# These come before the others, for a run that has not time for all (--cluster-seconds).
FIRST = ("install", "scale", "faults", "upgrade", "stack_kueue", "gang", "disruption")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test below this folder; without a cluster one of them is left, to say that all are skipped."""
    kind = config.getoption("cluster_type")
    if kind not in (None, *clusters.TYPES):
        raise pytest.UsageError(f"--cluster-type {kind}: known are {', '.join(clusters.TYPES)}")
    ours = [item for item in items if HERE in item.path.parents]
    later = {item for item in ours if item.path.stem.removeprefix("test_") not in FIRST}
    items.sort(key=later.__contains__)
    for item in ours:
        item.add_marker(pytest.mark.cluster)
    wanted = f"--cluster-type {' or '.join(clusters.TYPES)}" if kind is None else clusters.wanting(kind)
    if wanted and ours:
        ours[0].add_marker(pytest.mark.skip(reason=f"all {len(ours)} cluster tests: they need {wanted}"))
        items[:] = [item for item in items if item not in ours[1:]]
        config.hook.pytest_deselected(items=ours[1:])


@pytest.fixture(scope="session")
def kube_config(pytestconfig: pytest.Config) -> Iterator[str]:
    """Path of the kubeconfig; everything of pytest-helm-charts follows from it."""
    # Its Cluster.kubectl looks on PATH only.
    os.environ["PATH"] = f"{program('kubectl').parent}{os.pathsep}{os.environ['PATH']}"
    with clusters.kubeconfig(pytestconfig.getoption("cluster_type"), pytestconfig.getoption("kubeconfig")) as path:
        yield str(path)


@pytest.fixture(scope="module")
def api_groups(kube_cluster: Cluster) -> set[str]:
    """List the API groups that the cluster serves."""
    versions = kube_cluster.kubectl("api-versions", output_format="")
    return {version.partition("/")[0] for version in versions.split()}


@pytest.fixture
def lws(api_groups: set[str]) -> None:
    """Skip without LeaderWorkerSet."""
    if "leaderworkerset.x-k8s.io" not in api_groups:
        pytest.skip("the cluster has no LeaderWorkerSet (simulated: python -m ci.sim build lws)")


@pytest.fixture
def kueue(api_groups: set[str]) -> None:
    """Skip without Kueue."""
    if "kueue.x-k8s.io" not in api_groups:
        pytest.skip("the cluster has no Kueue (simulated: python -m ci.sim build kueue)")


@pytest.fixture(scope="module")
def definitions(kube_cluster: Cluster, pytestconfig: pytest.Config) -> Iterator[None]:
    """Serve the kinds of Grove, KAI and KEDA; a cluster of somebody's own is given none that it lacks."""
    with nullcontext() if pytestconfig.getoption("cluster_type") == "existing" else defined(kube_cluster):
        yield


@pytest.fixture
def cluster_wide(pytestconfig: pytest.Config) -> None:
    """Skip where objects of the whole cluster may be somebody's."""
    if pytestconfig.getoption("cluster_type") == "existing":
        pytest.skip("makes queues of its own for the whole cluster: --cluster-type sim or kind")


@pytest.fixture(scope="module")
def simulated(kube_cluster: Cluster) -> bool:
    """Whether the pods of this cluster are simulated, so that annotations make them slow or broken."""
    try:
        nodes = kube_cluster.kubectl("get nodes")
    except subprocess.CalledProcessError as error:
        if "Forbidden" in error.stderr:
            return False  # who may not list nodes is a guest on a cluster of somebody's
        raise
    return any("kwok.x-k8s.io/node" in node["metadata"].get("annotations", {}) for node in nodes)


@pytest.fixture(scope="module", autouse=True)
def limit(simulated: bool) -> None:
    """Wait longer for real pods."""
    waiting.LIMIT = waiting.SIMULATED if simulated else waiting.REAL


@pytest.fixture
def simulation(simulated: bool) -> None:
    """Skip where pods are real."""
    if not simulated:
        pytest.skip("drives simulated pods by annotations: --cluster-type sim")


@pytest.fixture
def real(simulated: bool) -> None:
    """Skip where no container runs."""
    if simulated:
        pytest.skip("needs containers: --cluster-type kind or existing")


@pytest.fixture(scope="session")
def site(pytestconfig: pytest.Config) -> Path | None:
    """Values of the cluster, beneath those of every test: ``--app-config-file-path``."""
    return clusters.site(pytestconfig)


@pytest.fixture(scope="session")
def chart(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the chart under test, ``--chart-path`` or the repository's: an edit meanwhile is for the next run."""
    copy = tmp_path_factory.mktemp("chart") / "serving"
    shutil.copytree(pytestconfig.getoption("chart_path") or CHART, copy)
    return copy


@pytest.fixture
def release(
    kube_cluster: Cluster,
    namespace_factory: NamespaceFactoryFunc,
    chart: Path,
    site: Path | None,
    request: pytest.FixtureRequest,
) -> Iterator[Release]:
    """Give a release, not yet installed, in a namespace of its own; it goes with the test, its namespace later."""
    slug = re.sub("[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    namespace = namespace_factory(f"{slug}-{secrets.token_hex(3)}").name
    release = Release(kube_cluster, namespace, chart, site=site)
    yield release
    if request.node.stash.get(FAILED, False):
        folder = dump(release, LEFT / request.node.name)
        request.node.add_report_section("teardown", "cluster", f"objects, events and logs of the namespace: {folder}")
    release.uninstall()


FAILED = pytest.StashKey[bool]()
TIMES = pytest.StashKey[Times]()


@pytest.fixture(scope="session")
def times(pytestconfig: pytest.Config) -> Times:
    """Keep times for the end of the run."""
    return pytestconfig.stash.setdefault(TIMES, Times())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the times."""
    config.stash.get(TIMES, Times()).show(terminalreporter)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember a failure for the fixtures that end afterwards."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


def dump(release: Release, folder: Path) -> Path:
    """Write what a failed test left: objects, events and logs of its namespace, and the nodes.

    Secrets are left out, as CI shows the folder to others; also Helm's, which hold the values.
    """
    folder.mkdir(parents=True, exist_ok=True)
    base = ["--kubeconfig", str(release.cluster.kube_config_path), "--namespace", release.namespace]
    listing = release.cluster.kubectl("api-resources --namespaced --verbs=list --output=name", output_format="")
    kinds = ",".join(kind for kind in listing.split() if kind != "secrets" and not kind.startswith("events"))
    looks = {
        "objects.yaml": ["get", kinds, "--output", "yaml", "--ignore-not-found"],
        "events.txt": ["get", "events", "--sort-by", ".lastTimestamp"],
        "pods.txt": ["describe", "pods"],
        "nodes.txt": ["get", "nodes", "--output", "wide"],
    }
    for pod in release.pods():
        name = pod["metadata"]["name"]
        looks[f"log-{name}.txt"] = ["logs", name, "--all-containers", "--tail", "500"]
    for file, command in looks.items():
        done = subprocess.run([program("kubectl"), *base, *command], capture_output=True, text=True, check=False)
        (folder / file).write_text(done.stdout + done.stderr)
    return folder
