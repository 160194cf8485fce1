"""What Lockstep accepts, the API server accepts, with strict validation and the controllers' real webhooks.

Every example, every values file for CI, and every row of the table of cases that expects no error.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cases.table import Case, cases
from tests.cluster import server
from tests.cluster.release import CHART, EXAMPLES, Release

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_helm_charts.clusters import Cluster
    from pytest_helm_charts.k8s.fixtures import NamespaceFactoryFunc

FILES = [*EXAMPLES, *sorted((CHART / "ci").glob("*-values.yaml"))]


@pytest.fixture(scope="module")
def dry(definitions: None, kube_cluster: Cluster, namespace_factory: NamespaceFactoryFunc, chart: Path) -> Release:
    """Give a release that nothing installs, in one namespace for all; Grove's kinds need no Grove here."""
    del definitions
    return Release(kube_cluster, namespace_factory(f"dry-run-{secrets.token_hex(3)}").name, chart)


def refusals(dry: Release, file: Path, name: str) -> list[str]:
    """Render a release and offer each of its objects; what the API server had to say, object by object."""
    said = []
    served = {(each.version, each.kind) for each in server.resources(dry.cluster)}
    # The pod of helm test wants the release's ServiceAccount to be there first.
    text = dry.helm("template", name, str(dry.chart), "--skip-tests", "--values", str(file)).stdout
    for item in yaml.safe_load_all(text):
        if not item:
            continue
        if (item["apiVersion"], item["kind"]) not in served:
            pytest.skip(f"the cluster does not serve {item['apiVersion']} {item['kind']}")
        if item["kind"] == "Pod":
            del item["spec"]["serviceAccountName"]  # a pod's account must be there, and nothing is stored here
        if words := server.offer(dry.cluster, dry.namespace, item):
            said.append(f"{item['kind']} {item['metadata']['name']}: {words}")
    return said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_taken_as_it_is(dry: Release, file: Path) -> None:
    """No unknown field, no refusal, no warning."""
    assert [] == refusals(dry, file, "model")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases() if case.expect == "ok"])
def test_what_the_checks_accept_is_taken(dry: Release, case: Case, tmp_path: Path) -> None:
    """A row without an error is no promise of the checks alone."""
    file = tmp_path / "values.yaml"
    file.write_text(case.text)

    assert [] == refusals(dry, file, case.name)
