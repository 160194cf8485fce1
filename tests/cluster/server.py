"""The API server's own words and objects, over one connection: kubectl costs a tenth of a second of CPU a look."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest


TIMEOUT = 60  # seconds


class Resource(NamedTuple):
    """One kind of object that the cluster serves."""

    plural: str
    version: str
    namespaced: bool
    kind: str


def read(cluster: Cluster, namespace: str, plural: str, name: str = "", **parameters: str) -> Manifest:
    """Read an object, or with no name the list of them."""
    resource = next(each for each in resources(cluster) if each.plural == plural)
    assert cluster.kube_client is not None
    response = cluster.kube_client.get(
        version=resource.version,
        namespace=namespace if resource.namespaced else None,
        url=f"{plural}/{name}" if name else plural,
        params=parameters,
        timeout=TIMEOUT,
    )
    assert response.ok, response.text
    found: Manifest = response.json()
    return found


def offer(cluster: Cluster, namespace: str, item: Manifest) -> str:
    """Try to create an object: strict decoding, CEL, defaults and every webhook, but nothing is stored.

    Returns
    -------
    str
        The refusal or the warning in the API server's own words; empty when it has none.
    """
    kind = (item["apiVersion"], item["kind"])
    resource = next(each for each in resources(cluster) if (each.version, each.kind) == kind)
    metadata = {**item["metadata"], "namespace": namespace} if resource.namespaced else item["metadata"]
    assert cluster.kube_client is not None
    response = cluster.kube_client.post(
        version=resource.version,
        namespace=namespace if resource.namespaced else None,
        url=resource.plural,
        params={"dryRun": "All", "fieldValidation": "Strict"},
        json={**item, "metadata": metadata},
        timeout=TIMEOUT,
    )
    if response.ok:
        return str(response.headers.get("Warning", ""))
    return str(response.json()["message"])


def everything(cluster: Cluster, namespace: str) -> set[tuple[str, str]]:
    """Kind and name of every object of a namespace except events."""
    kinds = cluster.kubectl("api-resources --namespaced --verbs=list --output=name", output_format="").split()
    wanted = ",".join(kind for kind in kinds if not kind.startswith("events"))
    return {(item["kind"], item["metadata"]["name"]) for item in cluster.kubectl(f"get {wanted}", namespace=namespace)}


@lru_cache
def resources(cluster: Cluster) -> tuple[Resource, ...]:
    """List what the cluster serves; where two kinds have one plural the older API is first."""
    table = cluster.kubectl("api-resources --no-headers", output_format="")
    rows = [line.split() for line in table.splitlines()]
    return tuple(Resource(row[0], row[-3], row[-2] == "true", row[-1]) for row in rows)
