"""The list of deliberate faults fits the chart and the suite as they are; running it takes a cluster."""

from __future__ import annotations

import pytest
import yaml
from ci.sim.folders import REPOSITORY

CHART = REPOSITORY / "charts" / "serving"
SUITE = REPOSITORY / "tests" / "cluster"
DOCS = (REPOSITORY / "docs" / "simulated-cluster.md").read_text()
MUTATIONS = yaml.safe_load((SUITE / "mutations.yaml").read_text())


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation["fault"])
def test_a_fault_can_be_made_and_its_test_exists(mutation: dict[str, str]) -> None:
    """The text to replace is there exactly once, the test has not been renamed, and the docs list both."""
    file, _, name = mutation["test"].partition("::")

    assert f"| {mutation['fault']} | `{mutation['test']}` |" in DOCS
    assert 1 == (CHART / mutation["file"]).read_text().count(mutation["old"])
    assert f"def {name.partition('[')[0]}(" in (SUITE / file).read_text()
