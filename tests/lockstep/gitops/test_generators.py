"""Generators yield the parameters that Argo CD 3.2 makes of the same files and clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lockstep.errors import ValuesError
from lockstep.gitops.applications import unread
from lockstep.gitops.clusters import Cluster, find
from lockstep.gitops.generators import Surroundings, parameters
from lockstep.gitops.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

HERE = "https://git.example.com/fleet.git"
EAST = Cluster("east", "https://east.example.com", "", {"ring": "canary", "gpu": "h100"}, {})
WEST = Cluster("West 1", "https://west.example.com", "", {"ring": "fleet"}, {"note": "x"})


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """Make a repository with three deployments on two clusters."""
    for path, text in {
        "deployments/east/a/config.yaml": "replicas: 2",
        "deployments/east/b/config.yaml": "replicas: 3",
        "deployments/west/a/config.yaml": "replicas: 4",
        "deployments/west/a/values.yaml": "x: y",
        "deployments/.hidden/a/config.yaml": "replicas: 5",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return Surroundings(Tree(tmp_path), HERE, frozenset({"HEAD"}), (EAST, WEST))


def git(**more: Any) -> dict[str, Any]:
    """Name the repository that is at hand."""
    return {"git": {"repoURL": HERE, "revision": "HEAD", **more}}


def names(rows: list[dict[str, Any]]) -> list[object]:
    """Give the name of each parameter set."""
    return [row["name"] for row in rows]


def test_a_list_gives_its_elements(around: Surroundings) -> None:
    """As they are, and those of a text of YAML behind them, where ``n`` is a boolean."""
    body = {"elements": [{"name": "a", "n": 1}], "elementsYaml": "[{name: b, n: 1}]"}

    assert [{"name": "a", "n": 1}, {"name": "b", "false": 1}] == parameters([{"list": body}], around)


def test_a_cluster_gives_its_secret(around: Surroundings) -> None:
    """Name, address, and the metadata that it has; templated values beside them."""
    body = {"selector": {"matchLabels": {"ring": "fleet"}}, "values": {"plain": "text"}}

    assert [
        {
            "name": "West 1",
            "nameNormalized": "west-1",
            "server": "https://west.example.com",
            "project": "",
            "metadata": {"annotations": {"note": "x"}, "labels": {"ring": "fleet"}},
            "values": {"plain": "text"},
        }
    ] == parameters([{"clusters": body}], around)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({}, ["east", "West 1", "in-cluster"], id="none: the cluster of Argo CD is one, too"),
        pytest.param({"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}, ["east"], id="Exists"),
        pytest.param({"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}, ["West 1"], id="DoesNotExist"),
        pytest.param(
            {"matchExpressions": [{"key": "ring", "operator": "In", "values": ["canary", "fleet"]}]},
            ["east", "West 1"],
            id="In",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "gpu", "operator": "NotIn", "values": ["h100"]}]}, ["West 1"], id="NotIn"
        ),
        pytest.param({"matchLabels": {"ring": "canary", "gpu": "l4"}}, [], id="one of two labels"),
    ],
)
def test_a_selector_picks_clusters(around: Surroundings, selector: dict[str, Any], expected: list[str]) -> None:
    """With the meaning of Kubernetes' label selectors."""
    assert expected == names(parameters([{"clusters": {"selector": selector}}], around))


def test_a_file_gives_its_content_and_its_path(around: Surroundings) -> None:
    """Sorted by path; a file that an exclude names is left out."""
    files = [{"path": "deployments/*/a/config.yaml"}, {"path": "deployments/.hidden/a/config.yaml", "exclude": True}]
    rows = parameters([git(files=files)], around)

    assert [2, 4] == [row["replicas"] for row in rows]
    assert {
        "path": "deployments/east/a",
        "basename": "a",
        "basenameNormalized": "a",
        "segments": ["deployments", "east", "a"],
        "filename": "config.yaml",
        "filenameNormalized": "config.yaml",
    } == rows[0]["path"]


def test_a_folder_gives_its_path(around: Surroundings) -> None:
    """Not those that begin with a dot, as in Argo CD."""
    rows = parameters([git(directories=[{"path": "deployments/*"}])], around)

    assert ["deployments/east", "deployments/west"] == [row["path"]["path"] for row in rows]


def test_a_pattern_that_depends_on_a_setting_is_refused(around: Surroundings) -> None:
    """``*`` goes over ``/`` or not, as the ApplicationSet controller was started."""
    with pytest.raises(ValuesError, match=r"deployments/\*/config.yaml also matches deployments/.hidden/a/config.yaml"):
        parameters([git(files=[{"path": "deployments/*/config.yaml"}])], around)


def test_a_file_may_hold_a_list(around: Surroundings) -> None:
    """Each row is a parameter set with the same path."""
    file = "deployments/east/all.yaml"
    (around.tree.root / file).write_text("- {name: a}\n- {name: b, n: 2}\n", encoding="utf-8")
    rows = parameters([git(files=[{"path": file}])], around)

    assert [("a", "deployments/east"), ("b", "deployments/east")] == [
        (row["name"], row["path"]["path"]) for row in rows
    ]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({}, ["a", "b", "c"], id="nothing asked"),
        pytest.param({"matchLabels": {"ring": "canary"}}, ["a"], id="a text"),
        pytest.param({"matchLabels": {"deep.on": "true"}}, ["b"], id="a boolean further down"),
        pytest.param({"matchLabels": {"n": "2"}}, ["b"], id="a number"),
        pytest.param(
            {"matchExpressions": [{"key": "ring", "operator": "NotIn", "values": ["canary"]}]},
            ["b", "c"],
            id="not there is not in",
        ),
        pytest.param({"matchExpressions": [{"key": "list.1", "operator": "Exists"}]}, ["c"], id="the place in a list"),
    ],
)
def test_a_selector_beside_a_generator_picks_of_what_it_yields(
    around: Surroundings, selector: dict[str, Any], expected: list[str]
) -> None:
    """Parameters are looked at as labels, those inside of others by their path."""
    rows = [{"name": "a", "ring": "canary"}, {"name": "b", "deep": {"on": True}, "n": 2}, {"name": "c", "list": [1, 2]}]

    assert expected == names(parameters([{"list": {"elements": rows}, "selector": selector}], around))


def test_a_flat_list_is_one_parameter_set(around: Surroundings) -> None:
    """Also when no cluster is in it."""
    nobody = {"flatList": True, "selector": {"matchLabels": {"ring": "nobody"}}}

    assert [{"clusters": []}] == parameters([{"clusters": nobody}], around)


def test_a_selector_inside_of_a_matrix_is_taken_as_written(around: Surroundings) -> None:
    """Argo CD fills the second generator in, and not its selector."""
    first = {"list": {"elements": [{"ring": "canary"}]}}
    second = {"list": {"elements": [{"name": "{{ .ring }}"}]}, "selector": {"matchLabels": {"name": "{{ .ring }}"}}}
    third = {**second, "selector": {"matchLabels": {"name": "canary"}}}

    assert [] == parameters([{"matrix": {"generators": [first, second]}}], around)
    assert ["canary"] == names(parameters([{"matrix": {"generators": [first, third]}}], around))


def test_a_key_that_a_selector_asks_for_is_read() -> None:
    """Also when no template names it."""
    item = {"spec": {"generators": [{"list": {}, "selector": {"matchLabels": {"stage.name": "x"}}}]}}

    assert ["other"] == list(unread(item, {"stage", "other"}))


def test_a_matrix_is_every_pair_and_its_first_generator_wins(around: Surroundings) -> None:
    """Mappings merge, and an empty value does not replace one that is there."""
    first = {"list": {"elements": [{"name": "a", "both": {"x": 1}, "empty": ""}]}}
    second = {"list": {"elements": [{"name": "b", "both": {"x": 2, "y": 2}, "empty": "full"}, {"name": "c"}]}}

    assert [
        {"name": "a", "both": {"x": 1, "y": 2}, "empty": "full"},
        {"name": "a", "both": {"x": 1}, "empty": ""},
    ] == parameters([{"matrix": {"generators": [first, second]}}], around)


def test_the_second_generator_of_a_matrix_may_use_the_first(around: Surroundings) -> None:
    """The folder of a cluster: what this repository's own ApplicationSets do."""
    clusters = {"clusters": {"selector": {"matchLabels": {"ring": "canary"}}}}
    files = git(files=[{"path": "deployments/{{ .name }}/*/config.yaml"}])
    rows = parameters([{"matrix": {"generators": [clusters, files]}}], around)

    assert [("east", 2), ("east", 3)] == [(row["name"], row["replicas"]) for row in rows]


def test_a_merge_lays_later_generators_on_the_first(around: Surroundings) -> None:
    """Where the keys are equal; what the first does not have is not added."""
    base = {"list": {"elements": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}}
    over = {"list": {"elements": [{"name": "b", "n": 3, "m": 4}, {"name": "c"}]}}

    assert [{"name": "a", "n": 1}, {"name": "b", "n": 3, "m": 4}] == parameters(
        [{"merge": {"mergeKeys": ["name"], "generators": [base, over]}}], around
    )


@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        pytest.param({"pullRequest": {}}, "hangs on a server", id="hangs on a server"),
        pytest.param(git(repoURL="https://example.com/other.git", files=[]), "is at hand", id="another repository"),
        pytest.param(git(revision="v1", files=[]), "reads revision v1", id="another revision"),
        pytest.param(git(), "neither files nor directories", id="nothing to find"),
        pytest.param({"list": {"element": []}}, "has the key element", id="unknown key"),
        pytest.param({"list": {}, "git": {}}, "exactly one kind", id="two kinds"),
        pytest.param({"list": {"template": {}}}, "has a template of its own", id="a template of its own"),
        pytest.param(
            {"list": {"elements": [{"n": 1.5}]}, "selector": {"matchLabels": {"n": "1.5"}}},
            "n, which is the number 1.5: quote it",
            id="a selector that asks for a number",
        ),
        pytest.param(
            {"clusters": {}, "selector": {"matchLabels": {"metadata.labels.ring": "fleet"}}},
            "does not look into metadata.labels there; pick clusters",
            id="a selector that asks for a cluster's label",
        ),
        pytest.param(
            {"clusters": {"values": {"a": "b"}}, "selector": {"matchLabels": {"values.a": "b"}}},
            "does not look into values there",
            id="a selector that asks for a value",
        ),
        pytest.param({"matrix": {"generators": [{"list": {}}]}}, "takes two generators; 1", id="half a matrix"),
        pytest.param({"merge": {"generators": []}}, "no mergeKeys", id="merge without keys"),
        pytest.param(
            {"merge": {"mergeKeys": ["n"], "generators": [{"list": {"elements": [{"n": 1}, {"n": 1}]}}]}},
            "two parameter sets with n 1",
            id="merge of equal keys",
        ),
    ],
)
def test_what_cannot_be_known_offline_or_is_wrong_is_refused(
    around: Surroundings, generator: dict[str, Any], expected: str
) -> None:
    """Not guessed, and not left out in silence."""
    with pytest.raises(ValuesError, match=expected):
        parameters([generator], around)


SECRET = {"argocd.argoproj.io/secret-type": "cluster", "ring": "canary"}


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(
            {
                "kind": "Secret",
                "metadata": {"name": "x", "labels": SECRET},
                "stringData": {"name": "east", "server": "https://e"},
            },
            id="Secret",
        ),
        pytest.param(
            {
                "kind": "Secret",
                "metadata": {"name": "x", "labels": SECRET},
                "data": {"name": "ZWFzdA==", "server": "aHR0cHM6Ly9l"},
            },
            id="encoded Secret",
        ),
        pytest.param(
            {
                "kind": "ExternalSecret",
                "metadata": {"name": "x"},
                "spec": {
                    "target": {
                        "template": {
                            "metadata": {"labels": SECRET},
                            "data": {"name": "east", "server": "https://e", "config": "{{ .token }}"},
                        }
                    }
                },
            },
            id="ExternalSecret",
        ),
        pytest.param(
            {
                "kind": "SealedSecret",
                "metadata": {"name": "x"},
                "spec": {
                    "encryptedData": {"config": "AgA="},
                    "template": {
                        "metadata": {"labels": SECRET},
                        "data": {"name": "east", "server": "https://e"},
                    },
                },
            },
            id="SealedSecret",
        ),
    ],
)
def test_a_cluster_is_found_however_its_secret_is_made(item: dict[str, Any]) -> None:
    """Plain, encoded, fetched from a store, or sealed."""
    other = {"kind": "Secret", "metadata": {"name": "other", "labels": {"a": "b"}}}

    assert [Cluster("east", "https://e", "", SECRET, {})] == list(find([other, item]))
