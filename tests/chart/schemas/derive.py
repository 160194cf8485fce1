"""Derive a small strict JSON schema from a CRD.

    python tests/chart/schemas/derive.py CRD.yaml > tests/chart/schemas/leaderworkerset.json

LeaderWorkerSet's spells out the whole pod template twice, 1.3 MB of it. Here a template is any object, which the tests
validate as a core/v1 PodTemplate. Descriptions go, defaults stay; an object that lists its properties takes no others.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

# Objects of core/v1 inside the CRD, validated as such by the tests.
CORE = {"leaderTemplate", "workerTemplate", "volumeClaimTemplates"}
INT_OR_STRING = "x-kubernetes-int-or-string"
SOURCES = {
    "LeaderWorkerSet": "kubernetes-sigs/lws 060ab4da config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "ScaledObject": "kedacore/keda 8b4f083c config/crd/bases/keda.sh_scaledobjects.yaml",
}


def strict(schema: object, name: str = "") -> object:
    """Close every object and drop what does not decide anything."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if name in CORE:
        return {"type": schema["type"]}
    kept = {key: strict(value) for key, value in schema.items() if key not in ("description", "properties")}
    kept = {key: value for key, value in kept.items() if not key.startswith("x-kubernetes-") or key == INT_OR_STRING}
    if schema.get(INT_OR_STRING):
        kept["type"] = ["integer", "string"]
        kept.pop("anyOf", None)
    if "properties" in schema:
        kept["properties"] = {key: strict(value, key) for key, value in schema["properties"].items()}
        kept["additionalProperties"] = False
    return kept


def main() -> None:
    """Print the schema of the one version."""
    crd = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    (version,) = (version for version in crd["spec"]["versions"] if version["served"])
    schema = strict(version["schema"]["openAPIV3Schema"])
    assert isinstance(schema, dict)
    schema["properties"]["metadata"] = {"type": "object"}
    del schema["properties"]["status"]
    spec, kind = crd["spec"], crd["spec"]["names"]["kind"]
    about = {"$comment": SOURCES[kind]}
    about["x-kubernetes-group-version-kind"] = {"group": spec["group"], "version": version["name"], "kind": kind}
    about["x-crd"] = {"scope": spec["scope"], "subresources": version["subresources"]}
    sys.stdout.write(json.dumps({**about, **schema}, indent=1) + "\n")


if __name__ == "__main__":
    main()
