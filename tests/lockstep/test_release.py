"""Values become a typed release with every default in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lockstep import share
from lockstep.inputs import Input
from lockstep.release import Layout, Release, Rollout, build, version
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.yamlfile import Values

BASE: Values = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
}


def release(folder: Path, **values: object) -> Release:
    """Build a release of the base and some values."""
    file = folder / "values.yaml"
    file.write_text(json.dumps(stack([BASE, values])))
    given = Input(file, (), share.folder("charts") / "serving", "demo", "default")
    return build(given, given.values())


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [
        pytest.param({}, (8, 2), id="absent"),
        pytest.param(None, (8, 2), id="null"),
        pytest.param({"tensor": 16}, (16, 1), id="tensor-alone"),
        pytest.param({"pipeline": 16}, (1, 16), id="pipeline-alone"),
        pytest.param({"tensor": None, "pipeline": 2}, (1, 2), id="null-factor"),
        pytest.param({"tensor": "4", "pipeline": "4"}, (4, 4), id="digits"),
    ],
)
def test_layout_defaults(tmp_path: Path, parallelism: Values | None, expected: tuple[int, int]) -> None:
    """Nothing named: tensor inside a node, pipeline between nodes. Something named: 1 for the rest."""
    layout: Layout = release(tmp_path, parallelism=parallelism).layout

    assert expected == (layout.tensor, layout.pipeline)


@pytest.mark.parametrize(
    ("engine", "parallelism", "ranks", "expert", "words"),
    [
        pytest.param("vllm", {"tensor": 8, "data": 2}, 16, 1, "tensor 8 x pipeline 1 x data 2", id="data-multiplies"),
        pytest.param("sglang", {"tensor": 16, "data": 8}, 16, 1, "tensor 16 x pipeline 1", id="data-within-tensor"),
        pytest.param("vllm", {"tensor": 4, "context": 4}, 16, 1, "tensor 4 x pipeline 1 x context 4", id="context"),
        pytest.param("vllm", {"tensor": 4, "data": 4, "expert": "all"}, 16, 16, None, id="experts-over-data"),
        pytest.param("vllm", {"expert": "all"}, 16, 8, "tensor 8 x pipeline 2", id="experts-of-the-default-split"),
        pytest.param("sglang", {"tensor": 16, "data": 8, "expert": "all"}, 16, 16, None, id="experts-within-tensor"),
        pytest.param("sglang", {"tensor": 16, "expert": "4"}, 16, 4, None, id="experts-in-digits"),
    ],
)
def test_ranks_of_all_factors(
    tmp_path: Path, engine: str, parallelism: Values, ranks: int, expert: int, words: str | None
) -> None:
    """SGLang's data parallel groups are made of its tensor ranks; experts are dealt to a stage."""
    layout = release(tmp_path, engine={"name": engine}, parallelism=parallelism).layout

    assert (ranks, expert) == (layout.ranks, layout.expert)
    assert words in (None, str(layout))


@pytest.mark.parametrize(
    ("expected", "weights"),
    [
        ("a/b", {"source": "hub"}),
        ("/models", {"source": "pvc", "claim": "c"}),
        ("/models/x/y", {"source": "pvc", "claim": "c", "path": "/x/y/"}),
        ("/models", {"source": "hostPath", "path": "/mnt/x"}),
    ],
    ids=["hub", "claim", "folder-of-a-claim", "host"],
)
def test_what_the_engine_is_told_to_load(tmp_path: Path, expected: str, weights: Values) -> None:
    """As the chart says it in LOCKSTEP_MODEL."""
    assert expected == release(tmp_path, model={"id": "a/b"}, weights=weights).model_reference


@pytest.mark.parametrize(
    ("replicas", "unavailable", "surge", "expected"),
    [
        pytest.param(4, "25%", "25%", (1, 1), id="even"),
        pytest.param(3, "50%", "50%", (1, 2), id="down-and-up"),
        pytest.param(1, "99%", "1%", (0, 1), id="of-one"),
        pytest.param(7, "100%", "0%", (7, 0), id="all-and-none"),
        pytest.param(2, "1", "3", (1, 3), id="numbers"),
        pytest.param(0, "50%", "50%", (0, 0), id="no-replicas"),
        pytest.param(100, "29%", "29%", (29, 29), id="no-rounding-of-doubles"),
    ],
)
def test_rollout_arithmetic(replicas: int, unavailable: str, surge: str, expected: tuple[int, int]) -> None:
    """Kubernetes rounds maxUnavailable down and maxSurge up."""
    rollout = Rollout(replicas, replicas, unavailable, surge, 0)

    assert expected == (rollout.unavailable, rollout.surge)


def test_defaults_of_chart_and_engine(tmp_path: Path) -> None:
    """Names, version, sizes and resource come from the chart."""
    built = release(tmp_path)

    assert (built.fullname, built.group.resource, built.shared_memory) == ("demo", "nvidia.com/gpu", "16Gi")
    assert built.engine.version == built.engine.facts.version


def test_fullname_override(tmp_path: Path) -> None:
    """The override names the group's object, not the release."""
    built = release(tmp_path, fullnameOverride="other")

    assert (built.name, built.fullname) == ("demo", "other")


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("0.9.2", "0.11.0"), ("0.11.0", "0.11.1"), ("0.11.1", "0.11.1.post1"), ("0.11", "0.11.1"), ("0.33.0", "1.0.0")],
)
def test_versions_are_compared_by_their_numbers(lower: str, higher: str) -> None:
    """Not as text, where 0.9 would be above 0.11; a suffix makes a version no lower."""
    assert version(lower) <= version(higher)
