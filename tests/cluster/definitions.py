"""Grove's, KAI's and KEDA's kinds without controllers: definitions made from the schemas that the chart is tested with.

The API server then decodes, defaults and validates their objects as on a real cluster, rules in CEL included. Nothing
acts on them.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ci.sim.folders import REPOSITORY

from tests.cluster import server
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest

SCHEMAS = REPOSITORY / "tests" / "chart" / "schemas"
KINDS = {
    "podcliqueset": "podcliquesets",
    "kaiqueue": "queues",
    "kaitopology": "topologies",
    "scaledobject": "scaledobjects",
}
# What a JSON schema says and a structural one may not.
FOREIGN = {"$comment", "$id", "$schema", "const", "x-crd", "x-kubernetes-group-version-kind"}


@contextmanager
def defined(cluster: Cluster) -> Iterator[None]:
    """Define those of the kinds that the cluster does not serve, and remove them afterwards."""
    lacking = missing(cluster)
    made = [item["metadata"]["name"] for item in lacking]
    try:
        for item in lacking:
            cluster.kubectl("create", std_input=json.dumps(item))
        eventually("the kinds to be served", lambda: server.resources.cache_clear() or not missing(cluster))
        yield
    finally:
        for name in made:
            cluster.kubectl(f"delete crd {name} --ignore-not-found --timeout=60s", output_format="")
        server.resources.cache_clear()


def missing(cluster: Cluster) -> list[Manifest]:
    """Give the definitions of those of the kinds that the cluster does not serve."""
    served = {(each.version, each.plural) for each in server.resources(cluster)}
    found = []
    for file, plural in KINDS.items():
        item = definition(json.loads((SCHEMAS / f"{file}.json").read_text()), plural)
        spec = item["spec"]
        if (f"{spec['group']}/{spec['versions'][0]['name']}", plural) not in served:
            found.append(item)
    return found


def definition(schema: Manifest, plural: str) -> Manifest:
    """Turn a schema of the repository into a CustomResourceDefinition."""
    kind, about = schema["x-kubernetes-group-version-kind"], schema["x-crd"]
    properties = {key: value for key, value in schema["properties"].items() if key not in ("apiVersion", "kind")}
    root = {**schema, "properties": properties, "required": [], "type": "object"}
    version = {"name": kind["version"], "served": True, "storage": True, "subresources": about["subresources"]}
    names = {"kind": kind["kind"], "plural": plural, "singular": kind["kind"].lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{kind['group']}"},
        "spec": {
            "group": kind["group"],
            "names": names,
            "scope": about["scope"],
            "versions": [{**version, "schema": {"openAPIV3Schema": structural(root)}}],
        },
    }


def structural(schema: Manifest) -> Manifest:
    """Say in the words of a CustomResourceDefinition what a JSON schema says."""
    said = {key: value for key, value in schema.items() if key not in FOREIGN}
    if said.get("x-kubernetes-int-or-string"):
        said.pop("type", None)
    if said.get("additionalProperties") is False:
        del said["additionalProperties"]  # strict decoding refuses what is not listed
    for key in ("items", "additionalProperties"):
        if key in said:
            said[key] = structural(said[key])
    if "properties" in said:
        said["properties"] = {key: structural(value) for key, value in said["properties"].items()}
    return said
