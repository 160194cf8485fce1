"""Which objects a release consists of, how they are called, and that they are valid and in canonical form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import kubernetes_validate
import pytest

from .rendering import CHART, FIVE_LINES, ONE_NODE, ROOT, Object, Rendered, refusal, render, values

if TYPE_CHECKING:
    from collections.abc import Iterator

KUBERNETES = ("1.27", "1.37")  # the floor of the chart, and the newest that the package has
LEADER_WORKER_SET = json.loads((Path(__file__).parent / "schemas" / "leaderworkerset.json").read_text(encoding="utf-8"))
POD_CLIQUE_SET = json.loads((Path(__file__).parent / "schemas" / "podcliqueset.json").read_text(encoding="utf-8"))
SCALED_OBJECT = json.loads((Path(__file__).parent / "schemas" / "scaledobject.json").read_text(encoding="utf-8"))
# Each made once: jsonschema.validate would hold a schema of 100 KB against its own at every object.
CUSTOM = {
    kind: jsonschema.validators.validator_for(schema)(schema)
    for kind, schema in (
        ("LeaderWorkerSet", LEADER_WORKER_SET),
        ("PodCliqueSet", POD_CLIQUE_SET),
        ("ScaledObject", SCALED_OBJECT),
    )
}
EXAMPLES = [*sorted((CHART / "ci").glob("*.yaml")), *sorted((ROOT / "values" / "examples").glob("*.yaml"))]

LWS = {
    ("LeaderWorkerSet", "r1"),
    ("Service", "r1-api"),
    ("ConfigMap", "r1-launch"),
    ("ServiceAccount", "r1-sa"),
    ("PodDisruptionBudget", "r1-pdb"),
    ("NetworkPolicy", "r1-network"),
    ("Pod", "r1-test"),
}
DEPLOYMENT = (LWS - {("LeaderWorkerSet", "r1")}) | {("Deployment", "r1")}


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param(LWS, {}, id="lws"),
        pytest.param(DEPLOYMENT, ONE_NODE, id="deployment"),
        pytest.param(LWS - {("NetworkPolicy", "r1-network")}, {"networkPolicy": {"enabled": False}}, id="no-policy"),
        pytest.param(LWS - {("PodDisruptionBudget", "r1-pdb")}, {"disruption": {"enabled": False}}, id="no-budget"),
        pytest.param(
            LWS - {("ServiceAccount", "r1-sa")}, {"security": {"serviceAccount": {"name": "mine"}}}, id="own-account"
        ),
        pytest.param(
            LWS | {("ConfigMap", "mine")},
            {"extraObjects": {"a": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}}},
            id="extra",
        ),
    ],
)
def test_a_release_has_exactly_these_objects(expected: set[tuple[str, str]], changes: Object) -> None:
    """Nothing is missing and nothing is there unasked."""
    assert expected == render(values(changes)).names()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.parametrize("version", KUBERNETES)
def test_objects_fit_the_schemas_of_kubernetes(file: Path, version: str) -> None:
    """Every object of every example is strictly valid; an object without schema is a failure, not a skip."""
    for item in core_objects(render(file)):
        assert version == kubernetes_validate.validate(item, version, strict=True)


def core_objects(rendered: Rendered) -> Iterator[Object]:
    """Give every object as one that core Kubernetes knows; what custom resources add is validated here."""
    for item in rendered.objects:
        if item["kind"] in CUSTOM:
            CUSTOM[item["kind"]].validate(item)
            for role, template in rendered.templates().items():
                yield {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": role}, "template": template}
        else:
            yield item


def empty_parts(node: Any, path: str = "") -> Iterator[str]:
    """Give the paths of empty maps, lists and nulls."""
    if isinstance(node, dict | list) and node:
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for key, part in parts:
            yield from empty_parts(part, f"{path}.{key}")
    elif node is None or node in ({}, []):
        yield path


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_nothing_is_empty_but_where_that_has_a_meaning(file: Path) -> None:
    """Empty fields are dropped by the API server and then differ from Git for ever."""
    meaningful = ("emptyDir", "namespaceSelector", "resources")
    found = [path for item in render(file).objects for path in empty_parts(item)]

    assert [] == [path for path in found if not path.endswith(meaningful)]


QUANTITIES = {
    # Pairs of k8s.io/apimachinery pkg/api/resource/quantity_test.go and their like.
    "1024Mi": "1Gi",
    "5120Mi": "5Gi",
    "1536Mi": "1536Mi",
    "1.5Gi": "1536Mi",
    "0.5Ki": "512",
    "512Ki": "512Ki",
    "16Ti": "16Ti",
    "1000m": "1",
    "1500m": "1500m",
    "100m": "100m",
    "0.5": "500m",
    "1000": "1k",
    "2000M": "2G",
    "1234567": "1234567",
    "1e3": "1k",
    "0Gi": "0",
}


def test_quantities_are_written_as_kubernetes_stores_them() -> None:
    """Else what is stored differs from Git for ever (argoproj/argo-cd#21135)."""
    asked = {f"example.com/{index}": given for index, given in enumerate(QUANTITIES)}
    sidecar = {"image": "example.com/sidecar", "resources": {"limits": asked}, "ports": [{"containerPort": 9000}]}
    changes = {
        "resources": {"limits": {"memory": "64Gi"}, "requests": asked},
        "sharedMemory": {"size": "2048Mi"},
        "pod": {"sidecars": {"beside": sidecar}, "volumes": {"cache": {"emptyDir": {"sizeLimit": "1024Gi"}}}},
    }
    rendered = render(values(changes))
    (beside,) = (item for item in rendered.pod()["containers"] if item["name"] == "beside")
    sizes = {volume["name"]: volume.get("emptyDir", {}).get("sizeLimit") for volume in rendered.pod()["volumes"]}
    stored = {name: QUANTITIES[given] for name, given in asked.items()}

    assert stored.items() <= rendered.engine()["resources"]["requests"].items()
    assert stored == beside["resources"]["limits"]
    assert [{"containerPort": 9000, "protocol": "TCP"}] == beside["ports"]
    assert ("2Gi", "1Ti") == (sizes["shm"], sizes["cache"])


def quantities(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the quantities of an object with their paths."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        if key in ("limits", "requests") and isinstance(part, dict):
            yield from ((f"{path}.{key}.{name}", str(quantity)) for name, quantity in part.items())
        elif key == "sizeLimit":
            yield f"{path}.{key}", str(part)
        else:
            yield from quantities(part, f"{path}.{key}")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_no_quantity_has_a_shorter_form(file: Path) -> None:
    """No number is a multiple of what its unit could be."""
    for item in render(file).objects:
        for path, quantity in quantities(item):
            number = int(quantity.rstrip("mkMGTPEi"))

            assert number == 0 or number % (1024 if quantity.endswith("i") else 1000), f"{path}: {quantity}"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_no_entry_of_a_container_is_given_twice(file: Path) -> None:
    """A variable, mount or port given twice is merged by the API server in ways that differ per client."""
    for template in render(file).templates().values():
        for container in template["spec"]["containers"]:
            for field, key in (("env", "name"), ("volumeMounts", "mountPath"), ("ports", "name")):
                names = [entry[key] for entry in container.get(field, [])]

                assert sorted(set(names)) == sorted(names)


def test_names_of_volumes_and_mounts_agree() -> None:
    """Every mount has its volume and every volume of the chart is mounted."""
    for role in ("leader", "worker"):
        rendered = render(CHART / "ci" / "everything-values.yaml")

        assert {volume["name"] for volume in rendered.pod(role)["volumes"]} == {
            mount["name"] for mount in rendered.engine(role)["volumeMounts"]
        }


@pytest.mark.parametrize("name", ["vllm", "ray", "sglang", "nccl", "on", "true", "null", "e1"])
def test_any_possible_release_name_stays_text(name: str) -> None:
    """A name that YAML takes for something else is quoted, and no pod gets variables made from Service names."""
    rendered = render(FIVE_LINES, name=name)

    assert all(isinstance(found, str) for _, found in rendered.names())
    for template in rendered.templates().values():
        assert template["spec"]["enableServiceLinks"] is False
        assert name == template["metadata"]["labels"]["lockstep/release"]


@pytest.mark.parametrize(
    ("length", "replicas", "surge"),
    [
        pytest.param(50, 1, 0, id="one-digit"),
        pytest.param(50, 10, 0, id="ten-replicas-end-with-9"),
        pytest.param(49, 10, 1, id="a-surge-makes-a-tenth-index"),
        pytest.param(48, 101, 0, id="three-digits"),
    ],
)
def test_the_longest_name_fits_and_one_more_does_not(length: int, replicas: int, surge: int) -> None:
    """The label <name>-<group>-<hash of 10> of a worker StatefulSet ends at 63 characters."""
    changes = values({"replicas": replicas, "rollout": {"maxSurge": surge}})
    longest = "n" * length
    last_group = str(replicas + surge - 1)

    assert 63 == len(f"{longest}-{last_group}-") + 10
    render(changes, name=longest)
    assert f"has {length + 1} characters, but {length} is the limit" in refusal(changes, name=longest + "n")


def test_names_on_a_deployment_leave_room_for_the_service() -> None:
    """There the Service is the tightest."""
    changes = values(ONE_NODE, {"fullnameOverride": "n" * 59})

    assert 63 == len(render(changes)["Service"]["metadata"]["name"])
    assert "59 is the limit" in refusal(values(ONE_NODE, {"fullnameOverride": "n" * 60}))


def left_to_defaults(schema: Object, value: Any, path: str = "") -> Iterator[str]:
    """Give the fields that the API server would fill in an object."""
    if not isinstance(value, dict):
        return
    for key, child in schema.get("properties", {}).items():
        if key in value:
            yield from left_to_defaults(child, value[key], f"{path}.{key}")
        elif "default" in child:
            yield f"{path}.{key}"


def test_nothing_of_an_lws_is_left_to_defaults() -> None:
    """Argo CD compares a custom resource field by field: what is filled in later is a difference for ever."""
    rendered = render(FIVE_LINES)
    ports = [port for role in rendered.templates() for port in rendered.engine(role)["ports"]]

    assert [] == list(left_to_defaults(LEADER_WORKER_SET, rendered["LeaderWorkerSet"]))
    assert {"TCP"} == {port.get("protocol") for port in [*ports, *rendered["Service"]["spec"]["ports"]]}


def test_the_rollout_of_an_lws_is_written_out() -> None:
    """With the values that the webhook would write."""
    spec = render(FIVE_LINES)["LeaderWorkerSet"]["spec"]

    assert "LeaderCreated" == spec["startupPolicy"]
    assert {"subdomainPolicy": "Shared"} == spec["networkConfig"]
    assert {
        "type": "RollingUpdate",
        "rollingUpdateConfiguration": {"partition": 0, "maxUnavailable": 1, "maxSurge": 0},
    } == spec["rolloutStrategy"]
    assert "RecreateGroupOnPodRestart" == spec["leaderWorkerTemplate"]["restartPolicy"]


@pytest.mark.parametrize(
    ("expected", "given"), [(25, 25), (25, "25"), ("25%", "25%")], ids=["number", "digits", "percent"]
)
def test_numbers_of_a_rollout_stay_numbers(expected: int | str, given: int | str) -> None:
    """A percentage is text, everything else a number."""
    spec = render(values({"replicas": 100, "rollout": {"maxUnavailable": given}}))["LeaderWorkerSet"]["spec"]

    assert expected == spec["rolloutStrategy"]["rollingUpdateConfiguration"]["maxUnavailable"]


@pytest.mark.parametrize(
    ("expected", "choice"), [("RecreateGroupOnPodRestart", "recreate"), ("None", "replace")], ids=lambda value: value
)
def test_the_restart_policy_follows_the_choice(expected: str, choice: str) -> None:
    """`replace` leaves the group alone when one pod is lost."""
    spec = render(values({"stack": {"lws": {"onPodLoss": choice}}}))["LeaderWorkerSet"]["spec"]

    assert expected == spec["leaderWorkerTemplate"]["restartPolicy"]


@pytest.mark.parametrize("changes", [{}, ONE_NODE], ids=["lws", "deployment"])
def test_zero_replicas_are_zero(changes: Object) -> None:
    """0 is a value, not a missing one."""
    rendered = render(values(changes, {"replicas": 0}))
    (stack,) = (item for item in rendered.objects if item["kind"] in ("LeaderWorkerSet", "Deployment"))

    assert 0 == stack["spec"]["replicas"]


def test_the_kubernetes_floor_counts_a_vendor_suffix_as_its_version() -> None:
    """LeaderWorkerSet needs StatefulSet start ordinals, which came with 1.27."""
    render(FIVE_LINES, flags=("--kube-version", "1.27.3-gke.100"))
    assert "1.25.0" in refusal(FIVE_LINES, flags=("--kube-version", "1.25.0"))
