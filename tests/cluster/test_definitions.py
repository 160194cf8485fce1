"""Grove's and KAI's objects against their real schemas in a real API server; a cluster needs neither controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from ci.sim.folders import REPOSITORY

from tests.cluster import server
from tests.cluster.definitions import missing
from tests.cluster.release import Release, two_nodes

if TYPE_CHECKING:
    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest

QUEUES = REPOSITORY / "charts" / "queues"
KAI = yaml.safe_load((QUEUES / "ci" / "kai-values.yaml").read_text())


@pytest.fixture(autouse=True)
def served(definitions: None, kube_cluster: Cluster) -> None:
    """Skip without the kinds."""
    del definitions
    if lacking := [item["spec"]["names"]["kind"] for item in missing(kube_cluster)]:
        pytest.skip(f"the cluster serves no {', no '.join(lacking)}; --cluster-type sim or kind defines them")


def values(**changes: Any) -> Manifest:
    """Values of groups of two nodes on this stack."""
    return two_nodes(**{"stack": {"name": "grove"}, **changes})


def rendered(release: Release, kind: str) -> Manifest:
    """Give the one object of a kind in the release, as Helm sent it."""
    text = release.helm("get", "manifest", release.name).stdout
    return next(item for item in yaml.safe_load_all(text) if item and item["kind"] == kind)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="two nodes"),
        pytest.param({"group": {"nodes": 1, "gpusPerNode": 8}}, id="one node"),
        pytest.param({"queue": {"name": "serving", "priorityClass": "inference"}}, id="queue"),
        pytest.param({"topology": "rack"}, id="topology"),
        pytest.param({"engine": {"name": "sglang"}}, id="SGLang"),
        pytest.param({"replicas": 3}, id="replicas"),
    ],
)
def test_the_stored_set_is_the_rendered_one(release: Release, changes: Manifest) -> None:
    """No default of the definition adds to it: Argo CD would see it OutOfSync for ever."""
    release.apply(values(**changes))
    sent = rendered(release, "PodCliqueSet")

    assert sent["spec"] == release.one("podcliquesets", sent["metadata"]["name"])["spec"]


@pytest.mark.parametrize(
    ("where", "what", "words"),
    [
        pytest.param(["cliques", 0, "spec"], {"minAvailible": 1}, 'unknown field "spec.template', id="misspelt"),
        pytest.param(["cliques", 1], {"name": "leader"}, "Duplicate value", id="two cliques of one name"),
        pytest.param([], {"cliqueStartupType": "InOrder"}, "Unsupported value", id="unknown start-up"),
        pytest.param([], {"topologyConstraint": {"pack": {}}}, "failed rule: has(self.required)", id="CEL"),
    ],
)
def test_the_definition_is_strict(release: Release, where: list[str | int], what: Manifest, words: str) -> None:
    """What is accepted here says something: schema, keys of lists and rules in CEL are the real ones."""
    text = release.helm("template", "model", str(release.chart), values=values()).stdout
    spoiled = next(item for item in yaml.safe_load_all(text) if item and item["kind"] == "PodCliqueSet")
    target = spoiled["spec"]["template"]
    for key in where:
        target = target[key]
    target.update(what)

    assert words in server.offer(release.cluster, release.namespace, spoiled)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"engine": {"name": "vllm", "version": "0.32.0"}}, id="image"),
        pytest.param({"replicas": 3}, id="replicas"),
        pytest.param({"group": {"nodes": 3, "gpusPerNode": 8}}, id="nodes of a group"),
        pytest.param({"topology": "rack"}, id="topology"),
    ],
)
def test_a_change_is_taken(release: Release, change: Manifest) -> None:
    """No rule for updates stands in its way, and one set is left."""
    release.apply(values())

    release.apply(values(**change))
    sent = rendered(release, "PodCliqueSet")

    assert [sent["metadata"]["name"]] == [item["metadata"]["name"] for item in release.get("podcliquesets")]
    assert sent["spec"] == release.get("podcliquesets")[0]["spec"]


def test_kais_queues_are_stored_as_rendered(release: Release) -> None:
    """Queues and topology of charts/queues, whose kinds Kueue has too."""
    queues = Release(release.cluster, release.namespace, QUEUES, "queues")
    queues.apply(KAI)
    try:
        sent = list(yaml.safe_load_all(queues.helm("get", "manifest", "queues").stdout))
        stored = [stored_like(queues, item) for item in sent]
        changed = queues.apply({**KAI, "topology": {"levels": ["kubernetes.io/hostname"]}}, check=False)
    finally:
        queues.uninstall()

    assert {"Queue", "Topology"} == {item["kind"] for item in sent}
    assert [item["spec"] for item in sent] == [item["spec"] for item in stored]
    assert "self == oldSelf" in changed.stderr


def stored_like(release: Release, item: Manifest) -> Manifest:
    """Read an object back by its kind and API group; plural names are not unique here."""
    group, _, version = item["apiVersion"].partition("/")
    kind = f"{item['kind'].lower()}.{version}.{group}"
    found: Manifest = release.cluster.kubectl(f"get {kind} {item['metadata']['name']}")
    return found
