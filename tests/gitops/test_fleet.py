"""Several clusters: a Secret brings a cluster its models, and a change reaches the canary first."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest
from ci.sim.argocd import register
from pytest_helm_charts.clusters import ExistingCluster

from tests.cluster import clusters
from tests.cluster.release import images, two_nodes
from tests.cluster.waiting import eventually
from tests.gitops.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ci.sim.cluster import Cluster as Simulated
    from ci.sim.fleet import Fleet
    from pytest_helm_charts.clusters import Cluster

PRESET = "values/models/shared.yaml"


@pytest.fixture(scope="module")
def other() -> Iterator[Simulated]:
    """Start a second cluster, without Argo CD."""
    cluster = clusters.start_simulated(f"test-{os.getpid()}-east", ("lws",))
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
def east(fleet: Fleet, other: Simulated) -> Iterator[Cluster]:
    """Register it in the ring that follows the canaries."""
    register(fleet.argocd, other, "east", {"lockstep/ring": "fleet"})
    connection = ExistingCluster(str(other.kubeconfig))
    connection.create()
    yield connection
    connection.destroy()


@pytest.fixture
def pair(fleet: Fleet, kube_cluster: Cluster, east: Cluster) -> Iterator[tuple[Model, Model]]:
    """Give one release on both clusters, above a preset that they share: the canary's and the other's."""
    name = f"pair-{secrets.token_hex(2)}"
    presets = {"presets": ["accelerators/h200-8", "fabrics/infiniband", "models/shared"]}
    canary, follower = (Model(fleet, kube_cluster, name, "local", presets), Model(fleet, east, name, "east", presets))
    fleet.repository.write(PRESET, preset("1"))
    canary.write(two_nodes())
    follower.write(two_nodes())
    revision = fleet.push("Serve on both")
    canary.until("Healthy", revision=revision)
    follower.until("Healthy", revision=revision)
    yield canary, follower
    canary.clear()
    follower.clear()


def preset(version: str) -> str:
    """Text of the preset that both share; its pods take a while to be Ready."""
    return f'engine: {{image: {{tag: "{version}"}}}}\npod: {{annotations: {{sim/ready-delay: 3s}}}}\n'


def versions(model: Model) -> set[str]:
    """Tags of the images that run, of pods that are Ready or not."""
    return {image.rpartition(":")[2] for pod in model.release.pods() for image in images(pod)}


def steps(*models: Model) -> tuple[str, ...]:
    """How far the rolling sync is with each."""
    return tuple(model.fleet.argocd.step(model.application) for model in models)


def test_a_secret_and_a_folder_bring_a_model_to_another_cluster(fleet: Fleet, east: Cluster) -> None:
    """Its pods run there, and nothing of it here."""
    model = Model(fleet, east, f"there-{secrets.token_hex(2)}", "east")

    model.until("Healthy", revision=model.commit(two_nodes()))

    assert 2 == len(model.release.ready(2))
    with fleet.argocd.api() as api:
        namespaces = {item["metadata"]["name"] for item in api.get("/api/v1/namespaces")["items"]}
    assert model.release.namespace not in namespaces
    model.clear()


def test_a_preset_reaches_the_canary_first(pair: tuple[Model, Model]) -> None:
    """The other cluster keeps the old image until every pod of the canary is Ready with the new one."""
    canary, follower = pair

    canary.fleet.repository.write(PRESET, preset("2"))
    canary.fleet.push("Bump the preset")

    eventually("the follower to roll", lambda: "2" in versions(follower))
    rolled = versions(canary)
    canary.release.ready(2)
    follower.until("Healthy")
    follower.release.ready(2)

    assert {"2"} == rolled
    assert {"2"} == versions(follower)


def test_a_sick_canary_holds_the_others_back(pair: tuple[Model, Model]) -> None:
    """A preset with which no pod becomes Ready stops at the canary; its revert lets everything go on."""
    canary, follower = pair
    before = follower.release.uids()

    bad = preset("3").replace("sim/ready-delay: 3s", 'sim/not-ready: "true"')
    canary.fleet.repository.write(PRESET, bad)
    canary.fleet.push("Bump the preset badly")
    eventually("the canary to roll", lambda: {"3"} == versions(canary))
    eventually("the follower's turn to wait", lambda: ("Progressing", "Waiting") == steps(canary, follower))
    held = follower.release.settled()
    canary.fleet.repository.git("revert", "--no-edit", "HEAD")
    revision = canary.fleet.push("")
    canary.until("Healthy", revision=revision)
    follower.until("Healthy", revision=revision)

    assert before == held == follower.release.settled()
