"""A controller's own CRDs and webhooks are used as they are, except for where they point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ci.sim import chart
from ci.sim.component import Component, Manifests

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ADDRESS = "https://127.0.0.1:20001"


def hook(group: str) -> dict[str, Any]:
    """Give a webhook as charts write it."""
    service = {"name": "webhook", "namespace": "system", "path": "/mutate"}
    return {"name": group, "clientConfig": {"service": service}, "rules": [{"apiGroups": [group]}]}


def crd(*versions: str) -> dict[str, Any]:
    """Give a CRD with a conversion webhook."""
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "w", "path": "/convert"}}}}
    served = [{"name": version, "served": True} for version in versions]
    return {"kind": "CustomResourceDefinition", "spec": {"versions": served, "conversion": conversion}}


def test_a_webhook_is_called_by_address_with_a_certificate_to_trust() -> None:
    """No Service leads anywhere here; the path is the chart's own."""
    configuration = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}, "webhooks": [hook("apps")]}

    found = list(chart.webhooks([configuration], ADDRESS, "Q0E=", {"apps"}))

    assert [{"url": f"{ADDRESS}/mutate", "caBundle": "Q0E="}] == [each["clientConfig"] for each in found[0]["webhooks"]]


def test_webhooks_for_kinds_that_the_cluster_does_not_know_are_left_out() -> None:
    """Kueue brings one for every job kind it can manage."""
    hooks = [hook("apps"), hook("ray.io")]
    configuration = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "v"}, "webhooks": hooks}

    found = list(chart.webhooks([configuration], ADDRESS, "Q0E=", {"", "apps"}))

    assert ["apps"] == [each["name"] for each in found[0]["webhooks"]]


def test_a_namespace_on_a_cluster_scoped_object_is_dropped() -> None:
    """Kueue's chart writes one, and the API server refuses it."""
    metadata = {"name": "m", "namespace": "system"}
    configuration = {"kind": "MutatingWebhookConfiguration", "metadata": metadata, "webhooks": []}

    found = list(chart.webhooks([configuration], ADDRESS, "Q0E=", set()))

    assert {"name": "m"} == found[0]["metadata"]


def test_a_definition_with_one_version_converts_nothing() -> None:
    """LeaderWorkerSet's chart names a conversion webhook for its only version."""
    assert [{"strategy": "None"}] == [
        found["spec"]["conversion"] for found in chart.definitions([crd("v1")], ADDRESS, "Q0E=")
    ]


def test_a_definition_with_several_versions_converts_by_address() -> None:
    """Kueue serves v1beta1 and v1beta2."""
    found = next(chart.definitions([crd("v1beta1", "v1beta2")], ADDRESS, "Q0E="))

    assert {"url": f"{ADDRESS}/convert", "caBundle": "Q0E="} == found["spec"]["conversion"]["webhook"]["clientConfig"]


def test_manifests_of_a_module_without_a_chart_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Argo CD has CRDs and a ConfigMap in its module; what is no CRD is there before its controllers start."""
    (tmp_path / "a-crd.yaml").write_text("kind: CustomResourceDefinition")
    (tmp_path / "cm.yaml").write_text("kind: ConfigMap")
    (tmp_path / "kustomization.yaml").write_text("kind: Kustomization")
    monkeypatch.setattr(Component, "module_folder", lambda _: tmp_path)
    source = Manifests("argocd", ("*-crd.yaml", "cm.yaml"))

    found = chart.render(Component("thing", {}, (), "x", manifests=source))

    assert ["CustomResourceDefinition", "ConfigMap"] == [item["kind"] for item in found]
    assert ["ConfigMap"] == [item["kind"] for item in chart.others(found)]
