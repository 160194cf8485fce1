"""Pods are made from rendered objects as their controllers make them."""

from __future__ import annotations

import pytest

from lockstep.errors import LockstepError

from .builders import container, deployment, group, lws, peers, pod, pod_template, podcliqueset, service, statefulset


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
    with pytest.raises(LockstepError, match="StatefulSet, PodCliqueSet, Deployment, but the chart rendered"):
        group(*objects)


def test_set_is_a_group_whose_pods_are_numbered() -> None:
    """A StatefulSet's pods: name, rank label and address by number; each comes back alone, under its own name."""
    made = group(*statefulset(size=3))
    ranks = [each.labels["apps.kubernetes.io/pod-index"] for each in made.pods()]

    assert ["model-0-abc-0", "model-0-abc-1", "model-0-abc-2"] == [each.name for each in made.pods()]
    assert ["0", "1", "2"] == ranks
    assert "model-0-abc-1.peers.default" in made.pod(1).dns_names
    assert (False, False) == (made.recreates, made.falls_with(0))


def test_first_of_several_sets() -> None:
    """Each set is a group, and the first is rehearsed."""
    second = statefulset()[0] | {"metadata": {"name": "model-1-abc"}}

    assert "model-0-abc" == group(*statefulset(), second).name


@pytest.mark.parametrize(
    "service",
    [peers(publishNotReadyAddresses=False), peers(clusterIP=None), peers(selector={"lockstep/release": "other"})],
    ids=["only ready pods", "not headless", "other pods"],
)
def test_set_without_names(service: dict[str, object]) -> None:
    """Ranks have no names before they are Ready unless the headless Service gives them."""
    assert [] == group(*statefulset(service)).pod(0).dns_names


def test_cliques_are_a_group_led_by_the_first() -> None:
    """Grove's names: ranks follow the scaling group's order, each clique counts from 0, hostnames differ from names."""
    leader, *workers = group(*podcliqueset(workers=2)).pods()

    assert ["model-n2-0-g-0-worker-0", "model-n2-0-g-0-worker-1"] == [each.hostname for each in workers]
    assert "model-n2-0-g-0-leader-0.model-n2-0" in leader.dns_names
    assert leader.name.startswith("model-n2-0-g-0-leader-")
    assert leader.name != leader.hostname
    assert ("leader", "model-n2") == (leader.labels["lockstep/role"], leader.labels["app.kubernetes.io/part-of"])
    assert "model-n2-0-g-0-leader" == leader.labels["app.kubernetes.io/name"]


def test_grove_variables_come_last() -> None:
    """Behind the template's own: no variable can refer to them."""
    values = {each["name"]: each["value"] for each in group(*podcliqueset()).pod(1).container()["env"]}
    names = [*values]

    assert ["LOCKSTEP_ENGINE", "LOCKSTEP_SERVED_NAME", "GROVE_PCS_NAME"] == names[:3]
    assert ("model-n2-0-g", "0") == (values["GROVE_PCSG_NAME"], values["GROVE_PCLQ_POD_INDEX"])


def test_pod_without_engine_container() -> None:
    """The engine's container is known by its contract; without it there is nothing to run."""
    made = pod(0, *lws(leader=pod_template(container(env=[]))))

    with pytest.raises(LockstepError, match="no container has LOCKSTEP_ENGINE"):
        made.container()
