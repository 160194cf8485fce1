"""Objects are held against their real schemas, the pods inside the stacks' own kinds too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lockstep import render, share
from lockstep.inputs import Input
from lockstep.objects import faults

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = share.folder("values") / "examples"


def rendered(example: str) -> list[Any]:
    """Render an example."""
    return render.objects(Input(EXAMPLES / f"{example}.yaml", (), share.folder("charts") / "serving", "r1", "default"))


def pod_of_set(item: Any) -> Any:
    """Give the leader's pod of a LeaderWorkerSet."""
    return item["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]


def pod_of_clique(item: Any) -> Any:
    """Give the first clique's pod of a PodCliqueSet."""
    return item["spec"]["template"]["cliques"][0]["spec"]["podSpec"]


@pytest.mark.parametrize(
    ("example", "kind", "pod", "place"),
    [
        pytest.param(
            "deepseek-r1-16xh100",
            "LeaderWorkerSet",
            pod_of_set,
            "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0]: ",
            id="lws",
        ),
        pytest.param(
            "qwen-14b-2xl4-on-grove",
            "PodCliqueSet",
            pod_of_clique,
            "spec.template.cliques[0].spec.podSpec.containers[0]: ",
            id="grove",
        ),
    ],
)
def test_a_pod_inside_a_stack(example: str, kind: str, pod: Callable[[Any], Any], place: str) -> None:
    """What the chart renders fits; a misspelt field of a container, or of the object itself, does not."""
    objects = rendered(example)

    assert list(faults(objects)) == []
    (item,) = (each for each in objects if each["kind"] == kind)
    pod(item)["containers"][0]["imag"] = "x"
    (said,) = faults(objects)
    assert said.startswith(f"{kind} {item['metadata']['name']}: {place}")
    assert "'imag' was unexpected" in said
    item["spec"]["replcas"] = 2
    assert any("'replcas' was unexpected" in said for said in faults(objects))


def test_a_kind_that_only_a_cluster_knows() -> None:
    """It is passed over."""
    assert list(faults([{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}])) == []


def test_every_schema_of_the_chart_has_its_kind() -> None:
    """A definition that was added for the chart is used here, too; those of the queues chart are not."""
    files = {file.name for file in Path(share.folder("schemas")).glob("*.json")}
    from lockstep.objects import _OWN

    assert files == set(_OWN.values()) | {"kaiqueue.json", "kaitopology.json"}
