"""Several clusters: a Secret brings a cluster its models, and a sick canary holds the others back."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest
import yaml
from ci.gitops.real import Real
from ci.gitops.simulated import secret
from pytest_helm_charts.clusters import ExistingCluster

from tests.cluster import clusters
from tests.cluster.release import images, is_ready, two_nodes
from tests.cluster.waiting import eventually
from tests.gitops.model import SICK, SLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ci.gitops.fleet import Fleet
    from ci.gitops.hub import Hub
    from pytest_helm_charts.clusters import Cluster as Connected

    from tests.gitops.model import Model

PRESET = "values/models/shared.yaml"
OLD, NEW = "0.32.0", "0.33.0"


FOLLOWS = {"lockstep/ring": "fleet"}


@pytest.fixture(scope="module")
def east(fleet: Fleet, hub: Hub, kube_cluster: Connected) -> Iterator[Connected]:
    """Register a second cluster in the ring that follows the canaries; with real pods it is the first once more."""
    if isinstance(hub, Real):
        fleet.argocd.register(hub.alias("east", FOLLOWS))
        yield kube_cluster
        hub.run("delete", "secret/east")
        return
    cluster = clusters.start_simulated(f"test-{os.getpid()}-east", ("lws",))
    fleet.argocd.register(secret(cluster, "east", FOLLOWS))
    connection = ExistingCluster(str(cluster.kubeconfig))
    connection.create()
    yield connection
    connection.destroy()
    cluster.down()


@pytest.fixture
def pair(fleet: Fleet, make: Callable[..., Model], east: Connected) -> Iterator[tuple[Model, Model]]:
    """Give one release on both clusters, above a preset that they share: the canary's and the other's."""
    name = f"pair-{secrets.token_hex(2)}"
    canary, follower = make(name), make(name, east, "east")
    canary.presets = follower.presets = (*canary.presets, "models/shared")
    fleet.repository.write(PRESET, preset(OLD))
    canary.write(two_nodes())
    follower.write(two_nodes())
    try:
        revision = fleet.push("Serve on both")
        canary.until("Healthy", revision=revision)
        follower.until("Healthy", revision=revision)
        yield canary, follower
    finally:
        canary.clear()
        follower.clear()


def preset(version: str) -> str:
    """Text of the preset that both share; its pods take a while to be Ready."""
    return yaml.safe_dump({"engine": {"version": version}, "pod": SLOW})


def versions(model: Model) -> set[str]:
    """Tags of the images that run, of pods that are Ready or not."""
    return {image.rpartition(":")[2] for pod in model.release.pods() for image in images(pod)}


def steps(*models: Model) -> tuple[str, ...]:
    """How far the rolling sync is with each."""
    return tuple(model.fleet.argocd.step(model.application) for model in models)


def test_a_secret_and_a_folder_bring_a_model_to_another_cluster(
    hub: Hub, make: Callable[..., Model], east: Connected
) -> None:
    """Its pods run there, and nothing of it here."""
    if isinstance(hub, Real):
        pytest.skip("needs a second cluster: --cluster-type sim")
    model = make(f"there-{secrets.token_hex(2)}", east, "east")

    model.until("Healthy", revision=model.commit(two_nodes()))

    assert 2 == len(model.release.ready(2))
    with hub.api() as api:
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

    canary.commit(two_nodes(pod=SICK))
    eventually("the canary to be sick", lambda: ("Progressing", "Healthy") == steps(canary, follower))
    canary.fleet.repository.write(PRESET, preset(NEW))
    canary.fleet.push("Bump the preset")
    eventually("the canary to roll", lambda: {f"v{NEW}"} == versions(canary))
    eventually("the follower's turn to wait", lambda: ("Progressing", "Waiting") == steps(canary, follower))
    held = follower.release.settled()
    canary.commit(two_nodes())
    eventually("the follower to roll", lambda: f"v{NEW}" in versions(follower))
    well = [is_ready(pod) for pod in canary.release.pods()]
    follower.until("Healthy")
    follower.release.ready(2)

    assert before == held
    assert [True, True] == well
    assert {f"v{NEW}"} == versions(follower)
