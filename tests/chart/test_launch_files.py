"""The launch scripts reach the pods byte for byte, and a change of them rolls each group exactly once."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from .rendering import CHART, FIVE_LINES, ONE_NODE, Object, refusal, render, values

if TYPE_CHECKING:
    from pathlib import Path

CHECKSUM = "lockstep/launch-checksum"
SCRIPTS = CHART / "files" / "launch"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Copy the chart, to be changed."""
    return shutil.copytree(CHART, tmp_path / "serving", ignore=shutil.ignore_patterns(".*_cache", "__pycache__"))


def checksums(chart: Path, given: Object = FIVE_LINES) -> set[str]:
    """Return the checksums of both templates."""
    templates = render(given, chart=chart).templates().values()
    return {template["metadata"]["annotations"][CHECKSUM] for template in templates}


@pytest.mark.parametrize("changes", [{}, ONE_NODE], ids=["lws", "deployment"])
def test_the_bytes_survive(changes: Object) -> None:
    """Every file appears below /lockstep at its own path with its own content."""
    rendered = render(values(changes))
    (launch,) = (volume for volume in rendered.pod()["volumes"] if volume["name"] == "launch")
    data = rendered["ConfigMap"]["data"]
    carried = {item["path"]: data[item["key"]] for item in launch["configMap"]["items"]}

    assert rendered["ConfigMap"]["metadata"]["name"] == launch["configMap"]["name"]
    assert len(data) == len(carried)
    for path, content in carried.items():
        assert (SCRIPTS / path).read_text(encoding="utf-8") == content
    assert {"launch.sh", "supervisor.py", "engines/vllm.sh"} <= set(carried)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"], ids=["no line break", "one", "three"])
def test_text_that_looks_like_a_template_is_not_rendered(chart: Path, end: str) -> None:
    """Braces in a script are the script's own, and so is its end."""
    script = chart / "files" / "launch" / "launch.sh"
    script.write_text(script.read_text() + "# {{ .Values.model.id }} {{- fail }}" + end)

    assert script.read_text() == render(FIVE_LINES, chart=chart)["ConfigMap"]["data"]["launch.sh"]


def test_one_byte_of_a_script_changes_the_checksum_of_both_roles(chart: Path) -> None:
    """Else leader and worker would run different scripts after a crash."""
    before = checksums(chart)
    script = chart / "files" / "launch" / "supervisor.py"
    script.write_text(script.read_text() + "#")
    # Rendering is cached by the chart's path.
    after = checksums(chart.rename(chart.with_name("changed")))

    assert 1 == len(before) == len(after)
    assert before != after


@pytest.mark.parametrize(
    "changes",
    [
        {"service": {"annotations": {"a": "b"}}},
        {"engine": {"args": {"a": 1}}},
        {"replicas": 3},
    ],
    ids=["service", "args", "replicas"],
)
def test_other_values_do_not(changes: Object) -> None:
    """The checksum is of the scripts alone."""
    assert checksums(CHART) == checksums(CHART, values(changes))


def test_neither_does_a_new_version_of_the_chart_or_another_engine(chart: Path) -> None:
    """A release of the chart that changes no script rolls nothing."""
    about = chart / "Chart.yaml"
    about.write_text(about.read_text().replace("version: 0.1.0", "version: 9.9.9"))
    (chart / "files" / "launch" / "engines" / "other.sh").write_text("#\n")
    new = render(FIVE_LINES, chart=chart)

    assert "serving-9.9.9" == new["Service"]["metadata"]["labels"]["helm.sh/chart"]
    assert render(FIVE_LINES).templates() == new.templates()


@pytest.mark.parametrize("script", ["launch.sh", "supervisor.py", "engines/vllm.sh"])
def test_a_chart_without_a_script_does_not_render(chart: Path, script: str) -> None:
    """An empty glob is silent in Helm; pods that cannot start are not."""
    (chart / "files" / "launch" / script).unlink()

    assert f"this copy of the chart is incomplete: files/launch/{script} is not in it" in refusal(
        FIVE_LINES, chart=chart
    )
