"""Selectors: traffic reaches leaders of this release and nobody else; the budget and the policy hold all its pods."""

from __future__ import annotations

from itertools import product

import pytest

from .rendering import FIVE_LINES, ONE_NODE, Object, Rendered, refusal, render, values

RELEASES = {"a": values(), "a-b": values(ONE_NODE), "b": values({"pod": {"labels": {"team": "search"}}})}


def pods() -> dict[tuple[str, str], dict[str, str]]:
    """Give the labels of every kind of pod of several releases in one namespace."""
    return {
        (name, role): template["metadata"]["labels"]
        for name, given in RELEASES.items()
        for role, template in render(given, name=name).templates().items()
    }


def selected(selector: dict[str, str]) -> set[tuple[str, str]]:
    """Give the pods that a selector of equalities finds."""
    return {pod for pod, labels in pods().items() if selector.items() <= labels.items()}


@pytest.mark.parametrize("name", RELEASES)
def test_the_service_finds_only_leaders_of_its_release(name: str) -> None:
    """A request that reaches a worker is refused now and then, which nobody can reproduce."""
    service = render(RELEASES[name], name=name)["Service"]

    assert {(name, "leader")} == selected(service["spec"]["selector"])


@pytest.mark.parametrize(
    ("kind", "field"), [("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")], ids=["budget", "policy"]
)
@pytest.mark.parametrize("name", RELEASES)
def test_budget_and_policy_hold_every_pod_of_the_release(name: str, kind: str, field: str) -> None:
    """Leaders and workers alike, and of no other release."""
    selector = render(RELEASES[name], name=name)[kind]["spec"][field]

    assert {pod for pod in pods() if pod[0] == name} == selected(selector["matchLabels"])


@pytest.mark.parametrize("name", RELEASES)
def test_a_deployment_selects_its_own_pods(name: str) -> None:
    """The selector is immutable, so it holds nothing that may change."""
    rendered = render(RELEASES[name], name=name)
    for item in rendered.objects:
        if item["kind"] == "Deployment":
            assert {"lockstep/release", "lockstep/role"} == set(item["spec"]["selector"]["matchLabels"])
            assert {(name, "leader")} == selected(item["spec"]["selector"]["matchLabels"])


def ingress(rendered: Rendered) -> list[tuple[Object, list[int] | None]]:
    """Give (peer, ports) of every ingress rule; no ports means all."""
    return [
        (peer, [port["port"] for port in rule["ports"]] if "ports" in rule else None)
        for rule in rendered["NetworkPolicy"]["spec"]["ingress"]
        for peer in rule["from"]
    ]


TESTER = ({"podSelector": {"matchLabels": {"lockstep/test": "r1"}}}, [8000, 7070])


def test_ports_of_the_engine_are_open_to_the_release_alone() -> None:
    """Whoever reaches the engines' own ports can run code; HTTP and status are open to those named and to helm test."""
    gateway = {"podSelector": {"matchLabels": {"app": "gateway"}}}
    prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "metrics"}}}
    rendered = render(values({"networkPolicy": {"httpFrom": [gateway], "metricsFrom": [prometheus]}}))

    assert [
        ({"podSelector": {"matchLabels": {"lockstep/release": "r1"}}}, None),
        TESTER,
        (gateway, [8000]),
        (prometheus, [8000, 7070]),
    ] == ingress(rendered)
    assert ["Ingress"] == rendered["NetworkPolicy"]["spec"]["policyTypes"]


def test_no_peers_means_nobody_but_the_release_and_its_test() -> None:
    """An empty `from` would mean everybody, so the rule is left out."""
    rendered = render(values({"networkPolicy": {"httpFrom": [], "metricsFrom": []}}))

    assert [({"podSelector": {"matchLabels": {"lockstep/release": "r1"}}}, None), TESTER] == ingress(rendered)


def test_closed_egress_still_has_dns_and_the_release() -> None:
    """Without DNS no worker would find its leader."""
    hub = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    spec = render(values({"networkPolicy": {"egress": {"enabled": True, "rules": [hub]}}}))["NetworkPolicy"]["spec"]

    assert ["Ingress", "Egress"] == spec["policyTypes"]
    assert [
        {"to": [{"podSelector": {"matchLabels": {"lockstep/release": "r1"}}}]},
        {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
        hub,
    ] == spec["egress"]


def test_with_the_network_of_the_node_no_two_pods_share_one() -> None:
    """Ports are fixed: a second replica, or another release in another namespace, must go elsewhere."""
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}}
    rendered = render(values({"network": {"hostNetwork": True}, "pod": {"affinity": affinity}}))
    for role, template in rendered.templates().items():
        terms = template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

        assert {"topologyKey": "rack"} == terms[0], role
        assert "kubernetes.io/hostname" == terms[1]["topologyKey"]
        assert {} == terms[1]["namespaceSelector"]
        assert terms[1]["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        assert "ClusterFirstWithHostNet" == template["spec"]["dnsPolicy"]


def test_without_it_no_affinity_is_invented() -> None:
    """Pods with their own addresses may share a node."""
    for template in render(FIVE_LINES).templates().values():
        assert "affinity" not in template["spec"]
        assert "lockstep/network" not in template["metadata"]["labels"]


@pytest.mark.parametrize(
    ("section", "field", "key"),
    [
        *product(["pod", "leader", "worker"], ["labels"], ["lockstep/role", "app.kubernetes.io/instance"]),
        ("pod", "labels", "kueue.x-k8s.io/queue-name"),
        ("leader", "annotations", "leaderworkerset.sigs.k8s.io/size"),
    ],
)
def test_a_user_cannot_take_a_label_that_decides(section: str, field: str, key: str) -> None:
    """The message says where and what."""
    assert f"STK005 {section}.{field} sets {key}" in refusal(values({section: {field: {key: "mine"}}}))
