"""An autoscaler owns the number of groups: it finds the set by name, and the chart writes no number beside it."""

from __future__ import annotations

import kubernetes_validate
import pytest

from .rendering import ONE_NODE, Object, render, values

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
SCALED = {"autoscaling": {"minReplicas": 1, "maxReplicas": 4, "metrics": [CPU]}}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="lws"),
        pytest.param({"queue": {"manager": "kueue"}}, id="lws under kueue"),
        pytest.param(ONE_NODE, id="deployment"),
    ],
)
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


def test_without_one_there_is_none() -> None:
    """And replicas are written."""
    rendered = render(values())

    assert "HorizontalPodAutoscaler" not in {kind for kind, _ in rendered.names()}
    assert 1 == rendered["LeaderWorkerSet"]["spec"]["replicas"]
