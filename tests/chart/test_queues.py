"""charts/queues: from nodes to quota, covering everything that pods of charts/serving request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from .rendering import CHART as SERVING
from .rendering import ROOT, Object, refusal, render
from .rendering import render as render_serving

CHART = ROOT / "charts" / "queues"
KUEUE = CHART / "ci" / "kueue-values.yaml"
KAI = CHART / "ci" / "kai-values.yaml"
SCHEMAS = {
    kind: json.loads((Path(__file__).parent / "schemas" / f"kai{kind.lower()}.json").read_text(encoding="utf-8"))
    for kind in ("Queue", "Topology")
}


def objects(file: Path, *changes: Object) -> dict[tuple[str, str], Object]:
    """Give the objects of values by kind and name; those of a namespace by the namespace, too."""
    return {
        (item["kind"], "/".join(filter(None, (item["metadata"].get("namespace"), item["metadata"]["name"])))): item
        for item in render(file, *changes, chart=CHART).objects
    }


def quota(file: Path, *changes: Object) -> dict[str, dict[str, tuple[str, str]]]:
    """Give own and borrowed quota of the queue called serving by pool and resource."""
    (group,) = objects(file, *changes)["ClusterQueue", "serving"]["spec"]["resourceGroups"]
    return {
        flavor["name"]: {row["name"]: (row["nominalQuota"], row["borrowingLimit"]) for row in flavor["resources"]}
        for flavor in group["flavors"]
    }


def test_kueue_gets_these_objects() -> None:
    """A queue in each namespace that may use it, and what it stands on."""
    assert {
        ("Topology", "serving"),
        ("ResourceFlavor", "h200"),
        ("ResourceFlavor", "l4"),
        ("ClusterQueue", "serving"),
        ("LocalQueue", "serving/serving"),
        ("ClusterQueue", "batch"),
        ("LocalQueue", "batch/batch"),
        ("LocalQueue", "research/batch"),
        ("WorkloadPriorityClass", "serving"),
        ("WorkloadPriorityClass", "batch"),
    } == set(objects(KUEUE))


def test_nodes_become_quota() -> None:
    """Each pool lists every resource of the queue, as Kueue demands; what it has not is 0."""
    assert {
        "h200": {
            "cpu": ("768", "384"),
            "memory": ("8Ti", "4Ti"),
            "nvidia.com/gpu": ("32", "16"),
            "rdma/hca_shared_devices_a": ("32", "16"),
        },
        "l4": {
            "cpu": ("16", "16"),
            "memory": ("64Gi", "64Gi"),
            "nvidia.com/gpu": ("2", "2"),
            "rdma/hca_shared_devices_a": ("0", "0"),
        },
    } == quota(KUEUE)


def test_quota_is_written_as_kubernetes_stores_it() -> None:
    """Kueue's webhook writes the whole queue anew, in canonical form, and Git would differ for ever."""
    nodes = {"queues": {"serving": {"nodes": {"h200": 1000, "l4": 3}, "borrow": 0}}}
    found = quota(KUEUE, nodes)

    assert {"cpu": "192k", "memory": "2000Ti", "nvidia.com/gpu": "8k"}.items() <= {
        name: own for name, (own, _) in found["h200"].items()
    }.items()
    assert ("24", "96Gi", "0") == tuple(found["l4"][name][0] for name in ("cpu", "memory", "rdma/hca_shared_devices_a"))


@pytest.mark.parametrize("fabric", ["infiniband", "roce", "aws-efa"])
def test_everything_that_a_pod_requests_is_covered(fabric: str) -> None:
    """A resource without quota keeps a group waiting for ever."""
    pod = {
        "model": {"id": "a/b"},
        "engine": {"name": "vllm"},
        "stack": {"name": "kueue"},
        "group": {"nodes": 2, "gpusPerNode": 8},
        "resources": {"requests": {"cpu": 64, "memory": "512Gi"}},
    }
    requests = render_serving(ROOT / "values" / "fabrics" / f"{fabric}.yaml", pod, chart=SERVING).engine("member")
    preset = yaml.safe_load((ROOT / "values" / "fabrics" / f"{fabric}.yaml").read_text(encoding="utf-8"))
    devices = [preset["network"]["rdma"]["resource"], *(preset.get("resources", {}).get("requests", {}))]
    pool = {"pools": {"h200": {"devicesPerNode": dict.fromkeys(devices, 8)}}}

    assert set(requests["resources"]["requests"]) <= set(quota(KUEUE, pool)["h200"])


def test_serving_gets_back_what_others_borrowed() -> None:
    """And within a queue the higher priority goes first."""
    spec = objects(KUEUE)["ClusterQueue", "serving"]["spec"]

    assert {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"} == spec["preemption"]
    assert "gpus" == spec["cohortName"]
    assert 1000 == objects(KUEUE)["WorkloadPriorityClass", "serving"]["value"]


def test_kai_gets_a_parent_with_the_sum() -> None:
    """A limit of 0 would mean nothing, and a quota of 0 CPUs keeps a group out that may not be preempted."""
    found = objects(KAI)
    gpu = {name: item["spec"]["resources"]["gpu"] for (kind, name), item in found.items() if kind == "Queue"}
    rest = [
        item["spec"]["resources"][kind]
        for item in found.values()
        if item["kind"] == "Queue"
        for kind in ("cpu", "memory")
    ]

    assert {"serving": (34, 52), "batch": (16, 16), "gpus": (50, -1)} == {
        name: (entry["quota"], entry["limit"]) for name, entry in gpu.items()
    }
    assert {(-1, -1)} == {(entry["quota"], entry["limit"]) for entry in rest}
    assert "gpus" == found["Queue", "serving"]["spec"]["parentQueue"]
    for item in found.values():
        jsonschema.validate(item, SCHEMAS[item["kind"]])


def test_both_charts_mean_the_same_labels() -> None:
    """The words rack and block of charts/serving are levels here, under the name that it asks for."""
    owned = yaml.safe_load((SERVING / "files" / "owned.yaml").read_text(encoding="utf-8"))["topology"]
    topology = objects(KUEUE)["Topology", "serving"]
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]

    assert [owned["block"], owned["rack"], "kubernetes.io/hostname"] == levels


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        pytest.param(
            "names the pool b200, but pools has h200, l4", {"queues": {"serving": {"nodes": {"b200": 1}}}}, id="pool"
        ),
        pytest.param("gpu", {"pools": {"h200": {"gpu": 8}}}, id="unknown key"),
        pytest.param("nodes", {"queues": {"serving": {"nodes": None}}}, id="no nodes"),
        pytest.param("manager", {"manager": "volcano"}, id="manager"),
    ],
)
def test_what_cannot_be_is_refused(said: str, changes: Object) -> None:
    """By the schema, or with the names that there are."""
    assert said in refusal(KUEUE, changes, chart=CHART)


def test_the_schema_is_the_one_of_its_source() -> None:
    """values.schema.json is generated."""
    done = subprocess.run([sys.executable, "-m", "lockstep.schema", "--check", str(CHART)], check=False)

    assert 0 == done.returncode
