"""An autoscaler owns the number of groups: it finds the set by name, and the chart writes no number beside it."""

from __future__ import annotations

import jsonschema
import kubernetes_validate
import pytest

from .rendering import ONE_NODE, Object, render, values
from .test_objects import SCALED_OBJECT

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
SCALED = {"autoscaling": {"minReplicas": 1, "maxReplicas": 4, "metrics": [CPU]}}
WAITING = {
    "type": "prometheus",
    "metadata": {
        "serverAddress": "http://prometheus:9090",
        "query": "sum(vllm:num_requests_waiting)",
        "threshold": "4",
    },
    "authenticationRef": {"name": "prometheus"},
}
SLOWLY = {"scaleDown": {"stabilizationWindowSeconds": 1800}}

each_stack = pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="lws"),
        pytest.param({"queue": {"manager": "kueue"}}, id="lws under kueue"),
        pytest.param(ONE_NODE, id="deployment"),
    ],
)


@each_stack
def test_the_autoscaler_owns_the_number_of_groups(changes: Object) -> None:
    """Replicas in Git would undo at every sync what the autoscaler did."""
    rendered = render(values(changes, SCALED, {"replicas": 2}))
    (target,) = rendered.stack()
    scaler = rendered["HorizontalPodAutoscaler"]
    reference = scaler["spec"]["scaleTargetRef"]

    assert (target["apiVersion"], target["kind"]) == (reference["apiVersion"], reference["kind"])
    assert target["metadata"]["name"] == reference["name"]
    assert "replicas" not in target["spec"]
    assert (1, 4, [CPU]) == tuple(scaler["spec"][key] for key in ("minReplicas", "maxReplicas", "metrics"))
    assert "1.27" == kubernetes_validate.validate(scaler, "1.27", strict=True)


@each_stack
def test_keda_owns_the_number_of_groups(changes: Object) -> None:
    """By KEDA's own schema; it makes the HorizontalPodAutoscaler, so the chart makes none."""
    keda = {
        "manager": "keda",
        "minReplicas": 0,
        "maxReplicas": 4,
        "triggers": [WAITING],
        "pollingInterval": 15,
        "cooldownPeriod": 0,
        "fallback": {"failureThreshold": 3, "replicas": 2, "behavior": "static"},
        "behavior": SLOWLY,
    }
    rendered = render(values(changes, {"autoscaling": keda, "replicas": 2}))
    (target,) = rendered.stack()
    scaler = rendered["ScaledObject"]
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": SLOWLY}}
    same = {key: keda[key] for key in ("triggers", "pollingInterval", "cooldownPeriod", "fallback")}
    reference = {**{key: target[key] for key in ("apiVersion", "kind")}, "name": target["metadata"]["name"]}

    jsonschema.validate(scaler, SCALED_OBJECT)
    assert "keda.sh/v1alpha1" == scaler["apiVersion"]
    assert {
        "scaleTargetRef": reference,
        "minReplicaCount": 0,
        "maxReplicaCount": 4,
        "advanced": advanced,
        **same,
    } == scaler["spec"]
    assert "replicas" not in target["spec"]
    assert "HorizontalPodAutoscaler" not in {kind for kind, _ in rendered.names()}


def test_what_is_not_said_is_left_to_keda() -> None:
    """The trigger alone is enough."""
    scaler = render(
        values({"autoscaling": {"manager": "keda", "minReplicas": 1, "maxReplicas": 2, "triggers": [WAITING]}})
    )

    jsonschema.validate(scaler["ScaledObject"], SCALED_OBJECT)
    assert {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "triggers"} == set(scaler["ScaledObject"]["spec"])


def test_without_one_there_is_none() -> None:
    """And replicas are written."""
    rendered = render(values())

    assert set() == {"HorizontalPodAutoscaler", "ScaledObject"} & {kind for kind, _ in rendered.names()}
    assert 1 == rendered["LeaderWorkerSet"]["spec"]["replicas"]
