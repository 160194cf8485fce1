"""What the API server says to an object: strict decoding, CEL, defaults and every webhook, but nothing is stored."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_helm_charts.clusters import Cluster

    from tests.cluster.release import Manifest


def answer(cluster: Cluster, namespace: str, item: Manifest) -> str:
    """Try to create an object: the refusal or the warning in the API server's own words; empty when it has none."""
    plural, namespaced = kinds(cluster)[item["apiVersion"], item["kind"]]
    metadata = {**item["metadata"], "namespace": namespace} if namespaced else item["metadata"]
    assert cluster.kube_client is not None
    response = cluster.kube_client.post(
        version=item["apiVersion"],
        namespace=namespace if namespaced else None,
        url=plural,
        params={"dryRun": "All", "fieldValidation": "Strict"},
        json={**item, "metadata": metadata},
    )
    if response.ok:
        return str(response.headers.get("Warning", ""))
    return str(response.json()["message"])


@lru_cache
def kinds(cluster: Cluster) -> dict[tuple[str, str], tuple[str, bool]]:
    """Map API version and kind to the plural name, and whether it lives in a namespace."""
    table = cluster.kubectl("api-resources --no-headers", output_format="")
    rows = [line.split() for line in table.splitlines()]
    return {(row[-3], row[-1]): (row[0], row[-2] == "true") for row in rows}
