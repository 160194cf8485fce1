"""A site's own values on its own cluster: installed once as they are, they serve, lose a rank, and leave nothing.

On a GPU cluster this is the whole way with the real engine: ``make test-gpu SITE=values.yaml KUBECONFIG=file``. The
file is one that ``helm install`` would take; the namespace is new, so what it needs there goes into ``extraObjects``.
On kind the same runs with the stand-in.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import pytest
import yaml
from ci.kind.client import outage

from tests.cluster import pods, waiting
from tests.cluster.conftest import LEFT, dump
from tests.cluster.release import CHART, Release
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_helm_charts.clusters import Cluster
    from pytest_helm_charts.k8s.fixtures import NamespaceFactoryFunc

    from tests.cluster.release import Manifest

COUNT_DEVICES = "import torch; print(torch.cuda.device_count())"
PATIENCE = 60.0  # seconds for one answer of a real engine


@pytest.fixture(scope="module")
def values(site: Path | None, simulated: bool) -> Manifest:
    """Read the site's values, above the chart's."""
    given = yaml.safe_load(site.read_text()) if site else {}
    if simulated or "model" not in given:
        pytest.skip(
            "needs containers, and values that name a model: --app-config-file-path FILE, as helm install has it"
        )
    return {**yaml.safe_load((CHART / "values.yaml").read_text()), **given}


@pytest.fixture(scope="module")
def model(values: Manifest) -> str:
    """Give the name that requests have to say."""
    return str(values["model"].get("servedName", values["model"]["id"]))


@pytest.fixture(scope="module")
def served(
    kube_cluster: Cluster,
    namespace_factory: NamespaceFactoryFunc,
    chart: Path,
    site: Path,
    values: Manifest,
    model: str,
) -> Iterator[Release]:
    """Give the release when all pods are Ready and it answers; its objects and logs are kept in build/cluster/site."""
    release = Release(kube_cluster, namespace_factory(f"lockstep-site-{secrets.token_hex(3)}").name, chart, site=site)
    count = int(values["replicas"]) * int(values["group"]["nodes"])
    before, waiting.LIMIT = waiting.LIMIT, float(values["startup"]["seconds"])
    try:
        release.apply({})
        release.ready(count)
        pods.client(release).start(release.name)
        eventually("an answer", lambda: pods.ask(release, model, patience=PATIENCE))
        yield release
    finally:
        waiting.LIMIT = before
        remove(release)


def remove(release: Release) -> None:
    """Keep objects and logs, as long as there are some, and uninstall."""
    if release.helm("status", release.name, check=False).returncode == 0:
        dump(release, LEFT / "site")
        release.uninstall()


def test_every_pod_sees_the_devices_of_its_node(served: Release, values: Manifest) -> None:
    """What the container runtime shows the engine is what the values count."""
    names = list(served.uids())
    if pods.run(served, names[0], "python3", "-c", "import torch").returncode:
        pytest.skip("counts devices with the engine's own torch, and this image has none: a real engine is needed")
    seen = {name: pods.run(served, name, "python3", "-c", COUNT_DEVICES).stdout.strip() for name in names}

    assert dict.fromkeys(names, str(values["group"]["gpusPerNode"])) == seen


def test_it_answers_and_its_own_test_agrees(served: Release, model: str) -> None:
    """Tokens come through the Service, and helm test finds every rank serving."""
    answer = pods.ask(served, model, tokens=16, patience=PATIENCE)
    asked = served.helm("test", served.name, "--logs", check=False)

    assert answer is not None
    assert 16 >= answer["usage"]["completion_tokens"] > 0
    assert 0 == asked.returncode, asked.stdout + asked.stderr


def test_a_lost_engine_comes_back_in_place(served: Release, model: str, values: Manifest) -> None:
    """The engine of the last pod is killed, and the group answers again with the same pods and containers."""
    if not values["supervisor"].get("enabled", True):
        pytest.skip("the site's values switch the supervisor off")
    before = served.uids()

    with pods.client(served).asking(model, waiting.LIMIT, PATIENCE) as answers:
        assert next(answers)
        pods.kill_engine(served, max(before))
        outage(answers, time.monotonic())

    assert before == served.uids()
    assert {0} == {pods.restarts(pod) for pod in served.pods()}


def test_nothing_is_left(served: Release) -> None:
    """The pods go with the release; what is kept of it gives no Secret away."""
    remove(served)
    kept = (LEFT / "site" / "objects.yaml").read_text()

    assert eventually("the pods to go", lambda: not served.pods())
    assert "kind: Pod\n" in kept
    assert "kind: Secret\n" not in kept
