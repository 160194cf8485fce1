"""Stack grove: cliques that KAI places whole, in the form that Grove stores, its variables in the command."""

from __future__ import annotations

import re

import pytest

from .rendering import Object, Rendered, render, values
from .test_objects import POD_CLIQUE_SET, left_to_defaults

BASE = values({"stack": {"name": "grove"}})
SUBDOMAIN = "$(GROVE_PCS_NAME)-$(GROVE_PCS_INDEX)"
EARLIER = re.compile(r"\$\(GROVE_\w+\)")


def template(rendered: Rendered) -> Object:
    """Give the template of a PodCliqueSet."""
    found: Object = rendered["PodCliqueSet"]["spec"]["template"]
    return found


def cliques(rendered: Rendered) -> dict[str, tuple[int, int]]:
    """Give replicas and least number of pods of each clique."""
    specs = {clique["name"]: clique["spec"] for clique in template(rendered)["cliques"]}
    return {name: (spec["replicas"], spec["minAvailable"]) for name, spec in specs.items()}


@pytest.mark.parametrize(
    ("expected", "nodes"),
    [
        ({"leader": (1, 1)}, 1),
        ({"leader": (1, 1), "worker": (1, 1)}, 2),
        ({"leader": (1, 1), "worker": (3, 3)}, 4),
    ],
    ids=["one-node", "two-nodes", "four-nodes"],
)
def test_a_group_is_one_scaling_group_that_needs_all_its_pods(expected: Object, nodes: int) -> None:
    """ai-dynamo/dynamo#7811: with a least number of 1 a worker came hours after the others."""
    rendered = render(values(BASE, {"group": {"nodes": nodes}, "parallelism": {"pipeline": nodes}, "replicas": 3}))
    (group,) = template(rendered)["podCliqueScalingGroups"]

    assert expected == cliques(rendered)
    assert {"name": "g", "cliqueNames": list(expected), "replicas": 1, "minAvailable": 1} == group
    assert 3 == rendered["PodCliqueSet"]["spec"]["replicas"]
    assert f"r1-n{nodes}" == rendered["PodCliqueSet"]["metadata"]["name"]


def test_nothing_is_left_to_defaults() -> None:
    """Grove's webhook writes what is missing, and Git then differs for ever."""
    rendered = render(BASE)

    assert [] == list(left_to_defaults(POD_CLIQUE_SET, rendered["PodCliqueSet"]))
    assert {"Always"} == {rendered.pod(role)["restartPolicy"] for role in rendered.templates()}
    assert "CliqueStartupTypeAnyOrder" == template(rendered)["cliqueStartupType"]
    assert {"publishNotReadyAddresses": True} == template(rendered)["headlessServiceConfig"]


@pytest.mark.parametrize(
    ("expected", "seconds"),
    [("11m0s", 60), ("50m0s", 2400), ("1h0m0s", 3000), ("1h40m5s", 5405), ("101h10m0s", 363600)],
)
def test_a_group_is_made_anew_when_no_start_takes_that_long(expected: str, seconds: int) -> None:
    """Ten minutes above the time to start, written as Go writes it."""
    assert expected == template(render(values(BASE, {"startup": {"seconds": seconds}})))["terminationDelay"]


def test_grove_does_not_count_the_time_to_start() -> None:
    """It counts containers that have started and are not Ready, and these start as their startup probe passes.

    Without that probe in every pod the whole load would count (ai-dynamo/grove v0.1.0-alpha.11).
    """
    rendered = render(values(BASE, {"startup": {"seconds": 7200}}))
    probes = [rendered.engine(role)["startupProbe"] for role in rendered.templates()]

    assert "2h10m0s" == template(rendered)["terminationDelay"]
    assert [7800, 7800] == [probe["periodSeconds"] * probe["failureThreshold"] for probe in probes]


def test_the_variables_of_grove_are_in_the_command() -> None:
    """Grove appends them to the container's own, where nothing before them can refer to them."""
    rendered = render(BASE)
    for role, offset in (("leader", "0"), ("worker", "1")):
        engine = rendered.engine(role)

        assert not [item["name"] for item in engine["env"] if EARLIER.search(str(item.get("value")))]
        assert "env" == engine["command"][0]
        assert ["bash", "/lockstep/launch.sh"] == engine["command"][-2:]
        assert {
            "LOCKSTEP_GROUP": f"serving/{SUBDOMAIN}",
            "LOCKSTEP_LEADER_ADDRESS": f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.{SUBDOMAIN}",
            "LOCKSTEP_NODE_RANK": "$(GROVE_PCLQ_POD_INDEX)",
            "LOCKSTEP_NODE_COUNT": "2",
            "LOCKSTEP_RANK_OFFSET": offset,
        }.items() <= rendered.env(role).items()


def test_queue_and_scheduler_are_everywhere() -> None:
    """On the set for KAI of today, on each clique for the next one; the scheduler in each pod."""
    changes = {"queue": {"name": "research", "priorityClass": "inference"}, "topology": "rack"}
    rendered = render(values(BASE, changes))
    metadata = rendered["PodCliqueSet"]["metadata"]

    assert {"kai.scheduler/queue": "research", "priorityClassName": "inference"}.items() <= metadata["labels"].items()
    assert "lockstep/rack" == metadata["annotations"]["kai.scheduler/topology-required-placement"]
    assert "inference" == template(rendered)["priorityClassName"]
    for made in rendered.templates().values():
        assert "research" == made["metadata"]["labels"]["kai.scheduler/queue"]
        assert "kai-scheduler" == made["spec"]["schedulerName"]


def test_no_object_has_a_name_that_grove_gives() -> None:
    """Grove makes a ServiceAccount <set> and Services <set>-<n>; one that is not its own stops it."""
    rendered = render(values(BASE, {"replicas": 2}))
    name = rendered["PodCliqueSet"]["metadata"]["name"]
    taken = {("ServiceAccount", name), ("Service", f"{name}-0"), ("Service", f"{name}-1")}

    assert set() == taken & rendered.names()
