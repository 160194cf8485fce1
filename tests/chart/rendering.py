"""Render charts/serving with the real helm, and find one's way in what comes out."""

from __future__ import annotations

import copy
import math
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from lockstep import helm
from lockstep.errors import RenderError

Object: TypeAlias = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "charts" / "serving"
ROLES: Final = ("leader", "worker")

FIVE_LINES: Final[Object] = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
    "parallelism": {"tensor": 8, "pipeline": 2},
}
ONE_NODE: Final[Object] = {
    "stack": {"name": "deployment"},
    "group": {"nodes": 1, "gpusPerNode": 4},
    "parallelism": {"tensor": 4, "pipeline": 1},
}


def values(*layers: Object) -> Object:
    """Build values: the five lines with layers of changes on top."""
    merged = copy.deepcopy(FIVE_LINES)
    for layer in layers:
        _lay(merged, layer)
    return merged


def _lay(under: Object, over: Object) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            _lay(under[key], value)
        else:
            under[key] = copy.deepcopy(value)


@dataclass(frozen=True)
class Rendered:
    """The objects of one release."""

    objects: tuple[Object, ...]

    def __getitem__(self, kind: str) -> Object:
        """Return the one object of a kind."""
        (found,) = (item for item in self.objects if item["kind"] == kind)
        return found

    def names(self) -> set[tuple[str, str]]:
        """Return kind and name of all objects."""
        return {(item["kind"], item["metadata"]["name"]) for item in self.objects}

    def templates(self) -> dict[str, Object]:
        """Return the pod templates by role."""
        for item in self.objects:
            if item["kind"] == "LeaderWorkerSet":
                group = item["spec"]["leaderWorkerTemplate"]
                return {"leader": group["leaderTemplate"], "worker": group["workerTemplate"]}
            if item["kind"] == "PodCliqueSet":
                return {
                    clique["name"]: {
                        "metadata": {key: clique[key] for key in ("labels", "annotations")},
                        "spec": clique["spec"]["podSpec"],
                    }
                    for clique in item["spec"]["template"]["cliques"]
                }
            if item["kind"] in ("Deployment", "StatefulSet"):
                template = item["spec"]["template"]
                return {template["metadata"]["labels"]["lockstep/role"]: template}
        raise AssertionError("no stack was rendered")

    def stack(self) -> list[Object]:
        """Return the objects that run the groups."""
        kinds = ("LeaderWorkerSet", "Deployment", "StatefulSet", "PodCliqueSet")
        return [item for item in self.objects if item["kind"] in kinds]

    def pod(self, role: str = "leader") -> Object:
        """Return the pod spec of a role."""
        spec: Object = self.templates()[role]["spec"]
        return spec

    def engine(self, role: str = "leader") -> Object:
        """Return the engine container of a role."""
        (found,) = (item for item in self.pod(role)["containers"] if item["name"] == "engine")
        return dict(found)

    def env(self, role: str = "leader") -> dict[str, Any]:
        """Return the engine's variables: text, or the source where they have one; also those that its command sets."""
        engine = self.engine(role)
        given = dict(word.split("=", 1) for word in engine["command"] if "=" in word)
        return {**given, **{item["name"]: item.get("value", item.get("valueFrom")) for item in engine["env"]}}


def text(*layers: Object | Path, name: str = "r1", flags: tuple[str, ...] = (), chart: Path = CHART) -> str:
    """Render and return what helm printed. A layer is a values file or its content; the first lies lowest."""
    documents = tuple(
        layer.read_text(encoding="utf-8") if isinstance(layer, Path) else yaml.safe_dump(layer) for layer in layers
    )
    return _template(chart, name, documents, flags)


@cache
def _template(chart: Path, name: str, documents: tuple[str, ...], flags: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        files: list[str] = []
        for index, document in enumerate(documents):
            file = Path(folder) / f"{index}.yaml"
            file.write_text(document, encoding="utf-8")
            files += ["--values", str(file)]
        return helm.run(["template", name, chart, "--namespace", "serving", *files, *flags])


def render(*layers: Object | Path, name: str = "r1", flags: tuple[str, ...] = (), chart: Path = CHART) -> Rendered:
    """Render and return the objects."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = yaml.load_all(text(*layers, name=name, flags=flags, chart=chart), Loader=loader)
    return Rendered(tuple(item for item in documents if item))


def ranks_of(rendered: Rendered) -> int:
    """Multiply the factors of the contract; SGLang's data parallel groups are made of its tensor ranks."""
    env = rendered.env(next(iter(rendered.templates())))
    factors = ("TENSOR", "PIPELINE", "CONTEXT", *(() if env["LOCKSTEP_ENGINE"] == "sglang" else ("DATA",)))
    return math.prod(int(env[f"LOCKSTEP_{factor}"]) for factor in factors)


def refusal(*layers: Object | Path, name: str = "r1", flags: tuple[str, ...] = (), chart: Path = CHART) -> str:
    """Return helm's message about values that are refused."""
    with pytest.raises(RenderError) as caught:
        text(*layers, name=name, flags=flags, chart=chart)
    return str(caught.value)
