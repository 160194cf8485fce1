"""The queue and the topology: each manager finds its marks where it looks for them, and nowhere else."""

from __future__ import annotations

import pytest

from .rendering import Object, Rendered, render, values

KUEUE = {"queue": {"manager": "kueue", "name": "research", "priorityClass": "high"}}
KAI = {"queue": {"manager": "kai", "name": "research", "priorityClass": "inference"}}
VOLCANO = {"queue": {"manager": "volcano", "name": "research"}}
FOREIGN = ("kueue.x-k8s.io", "kai.scheduler", "scheduling.volcano.sh", "exclusive-topology", "priorityClassName")


def marks(metadata: Object) -> Object:
    """Keep the labels and annotations that a manager reads."""
    every = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
    return {key: value for key, value in every.items() if any(part in key for part in FOREIGN)}


def of_set(rendered: Rendered) -> Object:
    """Give the marks of the LeaderWorkerSet."""
    return marks(rendered["LeaderWorkerSet"]["metadata"])


@pytest.mark.parametrize(
    ("on_set", "on_pods", "scheduler", "changes"),
    [
        pytest.param({}, {}, None, {}, id="nobody"),
        pytest.param(
            {"leaderworkerset.sigs.k8s.io/exclusive-topology": "lockstep/rack"},
            {},
            None,
            {"topology": "rack"},
            id="topology alone",
        ),
        pytest.param(
            {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high"},
            {},
            None,
            KUEUE,
            id="kueue",
        ),
        pytest.param(
            {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high"},
            {
                "kueue.x-k8s.io/podset-required-topology": "lockstep/block",
                "kueue.x-k8s.io/podset-group-name": "group",
            },
            None,
            {**KUEUE, "topology": "block"},
            id="kueue with a topology",
        ),
        pytest.param(
            {
                "kai.scheduler/queue": "research",
                "priorityClassName": "inference",
                "kai.scheduler/topology": "serving",
                "kai.scheduler/topology-required-placement": "example.com/row",
            },
            {"kai.scheduler/queue": "research"},
            "kai-scheduler",
            {**KAI, "topology": "example.com/row"},
            id="kai with a topology",
        ),
        pytest.param({"scheduling.volcano.sh/queue-name": "research"}, {}, "volcano", VOLCANO, id="volcano"),
    ],
)
def test_marks_are_where_the_manager_looks(
    on_set: Object, on_pods: Object, scheduler: str | None, changes: Object
) -> None:
    """On the set, on leader and worker alike, and the scheduler on both."""
    rendered = render(values(changes))

    assert on_set == of_set(rendered)
    for template in rendered.templates().values():
        assert on_pods == marks(template["metadata"])
        assert scheduler == template["spec"].get("schedulerName")


def test_the_default_queue_is_called_serving() -> None:
    """As charts/queues calls it."""
    assert "serving" == of_set(render(values({"queue": {"manager": "kueue"}})))["kueue.x-k8s.io/queue-name"]


def name(*changes: Object) -> str:
    """Give the name of the LeaderWorkerSet under Kueue."""
    return str(render(values(KUEUE, *changes))["LeaderWorkerSet"]["metadata"]["name"])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"group": {"nodes": 4}, "parallelism": {"pipeline": 4}}, id="size"),
        pytest.param({"group": {"gpusPerNode": 4}, "parallelism": {"tensor": 4}}, id="GPUs"),
        pytest.param({"worker": {"resources": {"requests": {"cpu": 8}}}}, id="requests of workers"),
        pytest.param({"pod": {"tolerations": {"spot": {"key": "spot"}}}}, id="toleration"),
        pytest.param({"pod": {"affinity": {"nodeAffinity": {"x": []}}}}, id="affinity"),
        pytest.param({"leader": {"sidecars": {"a": {"image": "x", "ports": [{"containerPort": 1}]}}}}, id="sidecar"),
        pytest.param({"queue": {"name": "other"}}, id="queue"),
        pytest.param({"topology": "rack"}, id="topology"),
    ],
)
def test_what_kueue_freezes_is_in_the_name(change: Object) -> None:
    """Kueue refuses such a change, or takes it and lets the pods wait for ever; a new set goes through."""
    assert name() != name(change)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"replicas": 3}, id="replicas"),
        pytest.param({"engine": {"args": {"max-model-len": 1}}}, id="arguments"),
        pytest.param({"engine": {"image": {"repository": "example.com/x"}}}, id="image"),
        pytest.param({"sharedMemory": {"size": "1Gi"}}, id="volume"),
        pytest.param({"rollout": {"maxUnavailable": 2}}, id="rollout"),
    ],
)
def test_what_rolls_in_place_is_not(change: Object) -> None:
    """Groups are replaced one after the other under the same name."""
    assert name() == name(change)
