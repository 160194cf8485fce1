"""lockstep diff of queues names what their cluster will refuse to change, for `charts/queues` and in a fleet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lockstep import share
from lockstep.cli import main
from lockstep.diff.change import rest
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

CHART = str(share.folder("charts") / "queues")
BASE: dict[str, Any] = {
    "manager": "kueue",
    "pools": {
        "h200": {
            "gpusPerNode": 8,
            "cpusPerNode": 192,
            "memoryGiBPerNode": 2048,
            "nodeLabels": {"example.com/pool": "h200"},
        }
    },
    "queues": {"serving": {"namespaces": ["serving"], "nodes": {"h200": 4}}},
}
ON_KAI = {"manager": "kai"}
RACKS = {"topology": {"levels": ["example.com/rack", "kubernetes.io/hostname"]}}
OTHER_NODES = {"pools": {"h200": {"nodeLabels": {"example.com/pool": "new"}}}}
MORE_NODES = {"queues": {"serving": {"nodes": {"h200": 5}}}}
LEVELS = "Topology serving: spec.levels cannot change in an object that exists"


@pytest.mark.parametrize(
    ("expected", "before", "change"),
    [
        pytest.param(
            [f"{LEVELS}, so the cluster refuses the change. Delete the object first."], ON_KAI, RACKS, id="kai"
        ),
        pytest.param([LEVELS, "until no ResourceFlavor names it."], {}, RACKS, id="kueue"),
        pytest.param(["ResourceFlavor h200: spec.nodeLabels cannot", "no ClusterQueue"], {}, OTHER_NODES, id="flavor"),
        pytest.param(["ClusterQueue serving: changed in place."], {}, MORE_NODES, id="quota"),
        pytest.param(["No object changes."], {}, {}, id="nothing"),
    ],
)
def test_queues_as_they_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: list[str], before: Any, change: Any
) -> None:
    """The frozen part is named, with the way out, and what can change is said to."""
    files = [tmp_path / "queues.yaml", tmp_path / "after.yaml"]
    for file, layers in zip(files, ([BASE, before], [BASE, before, change]), strict=True):
        file.write_text(json.dumps(stack(layers)), encoding="utf-8")
    code = main(["diff", "--chart", CHART, *map(str, files)])
    lines = capsys.readouterr().out.splitlines()

    assert (0, 1) == (code, len(lines))
    assert [] == [text for text in expected if text not in lines[0]]


def test_a_kind_of_the_same_name_elsewhere_is_another_object() -> None:
    """Kueue's Topology does not become KAI's."""
    kueue, kai = (
        {"apiVersion": version, "kind": "Topology", "metadata": {"name": "serving"}, "spec": {"levels": [label]}}
        for version, label in (("kueue.x-k8s.io/v1beta2", "a"), ("kai.scheduler/v1alpha1", "b"))
    )

    assert ["Topology serving: made.", "Topology serving: removed."] == list(rest([kueue], [kai]))
