"""The kind tier fits the chart: its image has the tags, its nodes the labels, and its values pass the checks."""

from __future__ import annotations

import re

import yaml
from ci.kind.client import made_of

from lockstep.cli import main
from tests.chart.rendering import CHART, ROOT, text

KIND = ROOT / "ci" / "kind"


def test_the_image_has_the_version_that_the_chart_names() -> None:
    """Whoever raises the version in engines.yaml raises it here, or no pod finds its image."""
    named = yaml.safe_load((CHART / "files" / "engines.yaml").read_text(encoding="utf-8"))["vllm"]["version"]
    tags = re.search(r"^VERSIONS=\((.*?)\)", (KIND / "settings.sh").read_text(encoding="utf-8"), re.MULTILINE)

    assert tags is not None
    assert f"v{named}" in tags[1].split()


def test_nodes_lie_in_the_racks_and_blocks_that_the_chart_means() -> None:
    """Three groups of two nodes fit, which the suite needs, each into a rack."""
    labels = yaml.safe_load((CHART / "files" / "owned.yaml").read_text(encoding="utf-8"))["topology"]
    cluster = yaml.safe_load((KIND / "cluster.yaml").read_text(encoding="utf-8"))
    racks = [node["labels"][labels["rack"]] for node in cluster["nodes"] if node["role"] == "worker"]

    assert ["rack-0"] * 2 + ["rack-1"] * 2 + ["rack-2"] * 2 == racks
    assert all(labels["block"] in node.get("labels", {}) for node in cluster["nodes"] if node["role"] == "worker")


def test_its_values_pass_the_checks() -> None:
    """They are an example as any other."""
    assert 0 == main(["check", str(KIND / "values.yaml")])


def test_the_client_is_made_from_the_pod_of_helm_test() -> None:
    """It has its image, its label and its security, waits to be asked, and is no hook."""
    hooks = text(KIND / "values.yaml", flags=("--show-only", "templates/tests/pod.yaml"))
    pod, tester = made_of(hooks), yaml.safe_load(hooks)
    container, its = pod["spec"]["containers"][0], tester["spec"]["containers"][0]

    assert "annotations" not in pod["metadata"]
    assert tester["metadata"]["labels"] == pod["metadata"]["labels"]
    assert ["sleep", "infinity"] == container["command"]
    for field in ("image", "env", "securityContext", "resources"):
        assert its[field] == container[field]
