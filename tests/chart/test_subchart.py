"""The chart as a dependency of another one, the usual way to keep values in Git beside Argo CD."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from .rendering import CHART, FIVE_LINES, Object, refusal, render, values
from .test_objects import empty_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


@pytest.fixture
def wrapper(tmp_path: Path) -> Path:
    """Make a chart with this one under two aliases, the second behind a condition, and one more without alias."""
    chart = tmp_path / "wrapper"
    ignored = shutil.ignore_patterns(".*_cache", "__pycache__")
    shutil.copytree(CHART, chart / "charts" / "serving", ignore=ignored)
    dependencies = [
        {"name": "serving", "version": "0.1.0", "alias": "chat"},
        {"name": "serving", "version": "0.1.0", "alias": "code", "condition": "code.enabled"},
    ]
    about = {"apiVersion": "v2", "name": "wrapper", "version": "1.0.0", "dependencies": dependencies}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    return chart


def parent(chart: Path, **given: Object) -> Path:
    """Write the parent's own values.yaml."""
    (chart / "values.yaml").write_text(yaml.safe_dump(given))
    return chart


def user(chart: Path) -> dict[str, Object]:
    """Return the user ids of both groups by name."""
    return {
        item["metadata"]["name"]: item["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["securityContext"]
        for item in render(chart=chart).objects
        if item["kind"] == "LeaderWorkerSet"
    }


def test_two_aliases_do_not_clash(wrapper: Path) -> None:
    """Names carry release and alias; so do the labels that selectors use."""
    rendered = render(chart=parent(wrapper, chat=values(), code=values({"enabled": True})))
    names = [(item["kind"], item["metadata"]["name"]) for item in rendered.objects]
    labels = {item["metadata"]["labels"]["lockstep/release"] for item in rendered.objects if item["kind"] != "Pod"}

    assert 14 == len(names) == len(set(names))
    assert {"r1-chat", "r1-code"} == labels


def test_global_values_are_taken_and_typing_errors_are_not(wrapper: Path) -> None:
    """Helm hands global to every dependency, and the condition's key to this one."""
    given = {"chat": values(), "code": values({"enabled": False}), "global": {"imageRegistry": "example.com"}}
    parent(wrapper, **given)

    assert 7 == len(render(chart=wrapper).objects)
    assert "at '/parallelism': additional properties 'tensr' not allowed" in refusal(
        {"chat": {"parallelism": {"tensr": 8}}}, chart=wrapper
    )


def test_null_removes_a_default_in_the_users_file(wrapper: Path) -> None:
    """As it does in the main chart."""
    parent(wrapper, chat=values(), code=values({"enabled": False}))
    rendered = render({"chat": {"security": {"pod": {"runAsUser": None}}}}, chart=wrapper)
    (group,) = (item for item in rendered.objects if item["kind"] == "LeaderWorkerSet")
    context = group["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["securityContext"]

    assert "runAsUser" not in context
    assert 1000 == context["runAsGroup"]


def test_null_in_the_parents_own_values_is_lost_in_helm(wrapper: Path) -> None:
    """Helm keeps the default then (helm/helm#32132): a parent chart must set a value, or leave null to the user."""
    no_user = {"security": {"pod": {"runAsUser": None}}}
    contexts = user(parent(wrapper, chat=values(no_user), code=values(no_user, {"enabled": True})))

    assert {"r1-chat": 1000, "r1-code": 1000} == {name: context["runAsUser"] for name, context in contexts.items()}


def test_no_null_is_left_in_what_is_rendered() -> None:
    """As main chart: null for a key with and without a default."""
    rendered = render(
        values(
            {
                "resources": {"limits": {"memory": None}},
                "network": {"interface": None, "rdma": None},
                "pod": {"nodeSelector": {"a": None}, "volumes": {"cache": None}, "sidecars": {"a": None}},
                "leader": {"resources": {"requests": {"cpu": None}}, "probes": {"liveness": None}},
            }
        )
    )

    assert render(FIVE_LINES).templates()["worker"]["spec"]["containers"] == rendered.pod("worker")["containers"]
    assert set(empty_parts(list(render(FIVE_LINES).objects))) == set(empty_parts(list(rendered.objects)))


@pytest.mark.parametrize(
    "given",
    [
        {"security": {"container": {"runAsUser": None}}},
        {"security": {"pod": {"seLinuxOptions": None}}},
        {"security": {"serviceAccount": {"annotations": {"a": None}}}},
        {"pod": {"tolerations": {"a": {"key": None, "operator": "Exists"}}}},
        {"pod": {"sidecars": {"a": {"image": "a", "resources": None, "env": [{"name": "a", "value": None}]}}}},
        {"pod": {"volumes": {"a": {"hostPath": {"path": "/a", "type": None}}}}},
        {"pod": {"volumeMounts": {"/a": {"name": "cache", "subPath": None}}}},
        {"pod": {"probes": {"liveness": {"httpGet": {"path": "/live", "port": "status", "host": None}}}}},
        {"pod": {"affinity": {"nodeAffinity": None}}},
        {"service": {"annotations": {"a": None}}},
        {"networkPolicy": {"httpFrom": [{"podSelector": None, "namespaceSelector": {}}]}},
        {"extraObjects": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": None}}},
    ],
    ids=lambda given: ".".join((next(iter(given)), next(iter(next(iter(given.values())))))),
)
def test_no_null_is_left_inside_what_kubernetes_defines(given: dict[str, Any]) -> None:
    """The API server refuses some of them and drops the others, which then differ from Git for ever."""
    rendered = render(values(given))

    assert [] == list(nulls(list(rendered.objects)))
    assert {"emptyDir", "namespaceSelector", "resources"} >= {
        path.rpartition(".")[2] for path in empty_parts(list(rendered.objects))
    }


def nulls(node: Any, path: str = "") -> Iterator[str]:
    """Give the paths of nulls."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        yield from nulls(part, f"{path}.{key}")
    if node is None:
        yield path
