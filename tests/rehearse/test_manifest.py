"""Pods are made from rendered objects as their controllers make them."""

from __future__ import annotations

import pytest

from lockstep.errors import LockstepError

from .builders import container, deployment, group, lws, pod, pod_template, service


def test_names_of_a_group() -> None:
    """LeaderWorkerSet's names: <lws>-<group>, then -<worker>."""
    names = [each.name for each in group(*lws(size=3)).pods()]

    assert ["model-0", "model-0-1", "model-0-2"] == names


def test_controller_variables_come_first_and_win() -> None:
    """LWS_* stand before the user's variables and replace those of the same name."""
    template = pod_template(
        container(env=[{"name": "LWS_GROUP_SIZE", "value": "9"}, {"name": "LOCKSTEP_ENGINE", "value": "vllm"}])
    )
    made = pod(1, *lws(workers=template))

    expected = [
        ("LWS_LEADER_ADDRESS", "model-0.model.default"),
        ("LWS_GROUP_SIZE", "2"),
        ("LWS_WORKER_INDEX", "1"),
        ("LOCKSTEP_ENGINE", "vllm"),
    ]
    assert expected == [(each["name"], each["value"]) for each in made.container()["env"]]


def test_labels_of_a_worker() -> None:
    """The controller's labels, beside those of the template."""
    labels = pod(1).labels

    assert "1" == labels["leaderworkerset.sigs.k8s.io/worker-index"]
    assert "0" == labels["leaderworkerset.sigs.k8s.io/group-index"]
    assert "model" == labels["lockstep/release"]


def test_leader_without_template_of_its_own() -> None:
    """A LeaderWorkerSet without leaderTemplate runs the worker's on the leader."""
    objects = lws()
    del objects[0]["spec"]["leaderWorkerTemplate"]["leaderTemplate"]

    assert "readinessProbe" not in pod(0, *objects).container()


def test_unique_subdomain() -> None:
    """UniquePerReplica puts the leader's own name into the address."""
    objects = lws()
    objects[0]["spec"]["networkConfig"] = {"subdomainPolicy": "UniquePerReplica"}

    assert "model-0.model-0.default" == pod(1, *objects).container()["env"][0]["value"]


def test_every_life_has_a_new_uid() -> None:
    """A recreated pod is another pod."""
    uids = {each.uid for _ in range(2) for each in group().pods()}

    assert 4 == len(uids)


@pytest.mark.parametrize(
    ("expected", "policy"),
    [(True, "RecreateGroupOnPodRestart"), (True, "RecreateGroupAfterStart"), (False, "None")],
    ids=str,
)
def test_recreation_follows_the_policy(expected: bool, policy: str) -> None:
    """Only the recreating policies replace the group."""
    assert expected is group(*lws(policy=policy)).recreates


def test_deployment_is_a_group_of_one() -> None:
    """One pod, which is its own leader."""
    made = group(*deployment())

    assert (1, 0, False) == (made.size, made.pods()[0].rank, made.recreates)


@pytest.mark.parametrize("objects", [[service()], [*lws(), *deployment()]], ids=["no group", "two groups"])
def test_what_is_no_group(objects: list[dict[str, object]]) -> None:
    """Nothing, or more than one: one message that says what was rendered."""
    with pytest.raises(LockstepError, match="needs one LeaderWorkerSet or one Deployment, but the chart rendered"):
        group(*objects)


def test_pod_without_engine_container() -> None:
    """The engine's container is known by its contract; without it there is nothing to run."""
    made = pod(0, *lws(leader=pod_template(container(env=[]))))

    with pytest.raises(LockstepError, match="no container has LOCKSTEP_ENGINE"):
        made.container()
