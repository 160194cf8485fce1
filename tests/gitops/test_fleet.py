"""Several clusters: a Secret brings a cluster its models, and a sick canary holds the others back."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest
from ci.sim.argocd import register
from pytest_helm_charts.clusters import ExistingCluster

from tests.cluster import clusters
from tests.cluster.release import images, is_ready, two_nodes
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


def test_a_sick_canary_holds_the_others_back_until_it_is_well(pair: tuple[Model, Model]) -> None:
    """A preset stops at the canary while no pod there becomes Ready, and goes on when every pod has it and is Ready.

    The canary is sick before the preset comes: of a change that both see for the first time Argo CD lets the others
    begin if it happens to compare them first (argoproj/argo-cd#12325).
    """
    canary, follower = pair
    before = follower.release.uids()

    canary.commit(two_nodes(pod={"annotations": {"sim/not-ready": "true"}}))
    eventually("the canary to be sick", lambda: ("Progressing", "Healthy") == steps(canary, follower))
    canary.fleet.repository.write(PRESET, preset("2"))
    canary.fleet.push("Bump the preset")
    eventually("the canary to roll", lambda: {"2"} == versions(canary))
    eventually("the follower's turn to wait", lambda: ("Progressing", "Waiting") == steps(canary, follower))
    held = follower.release.settled()
    canary.commit(two_nodes())
    eventually("the follower to roll", lambda: "2" in versions(follower))
    well = [is_ready(pod) for pod in canary.release.pods()]
    follower.until("Healthy")
    follower.release.ready(2)

    assert before == held
    assert [True, True] == well
    assert {"2"} == versions(follower)
