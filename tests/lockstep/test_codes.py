"""Every code in the registry has an example that fails with it and a neighbour that does not, and both are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from lockstep import checks, render, share
from lockstep.checks import run
from lockstep.codes import Layer, Severity, find, registry
from lockstep.errors import UsageError
from lockstep.gitops.check import run as check_fleet
from lockstep.inputs import Input
from lockstep.live.check import check as compare
from lockstep.live.cluster import Cluster
from lockstep.manifests import read
from lockstep.manifests.check import check as check_manifests
from tests.lockstep.gitops.trees import plant_example
from tests.lockstep.live.fake import Fake

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockstep.codes import Code

PACKAGE = Path(checks.__file__).parents[1]
CHART = share.folder("charts") / "serving"
ROWS = [pytest.param(row, id=row.code) for row in registry().values()]


@pytest.fixture
def found(tmp_path: Path, install_plugin: Callable[..., None]) -> Callable[[Code, str], set[str]]:
    """Run an example as its layer is run: on values, on manifests, on a cluster, or as a plug-in that is installed."""

    def run_example(row: Code, text: str) -> set[str]:
        if row.layer is Layer.PLUGIN:
            install_plugin(text, checks="acme:check")
            text = registry()["PAR001"].passes
        ways = {Layer.MANIFESTS: codes_of_manifests, Layer.LIVE: codes_on, Layer.FLEET: codes_of_fleet}
        return ways.get(row.layer, codes_of)(text, tmp_path)

    return run_example


def codes_of(text: str, folder: Path) -> set[str]:
    """Give the codes that a values file leads to."""
    file = folder / "example.yaml"
    file.write_text(text, encoding="utf-8")
    return {finding.code for finding in run(Input(file, (), CHART, "example", "default"))}


def codes_of_fleet(text: str, folder: Path) -> set[str]:
    """Give the codes that the shipped fleet leads to with the changes of an example."""
    return {finding.code for _, findings in check_fleet(plant_example(folder, text)) for finding in findings}


def codes_of_manifests(text: str, folder: Path) -> set[str]:
    """Give the codes that a file of manifests leads to."""
    file = folder / "objects.yaml"
    file.write_text(text, encoding="utf-8")
    return {finding.code for finding in check_manifests(read.objects(file))}


def codes_on(text: str, folder: Path) -> set[str]:
    """Give the codes that a values file leads to on the cluster whose objects follow it."""
    values, _, objects = text.partition("---\n")
    file = folder / "example.yaml"
    file.write_text(values, encoding="utf-8")
    given = Input(file, (), CHART, "example", "default")
    cluster = Cluster(Fake(objects=list(yaml.safe_load_all(objects))))
    return codes_of(values, folder) | {finding.code for finding in compare(render.objects(given), "default", cluster)}


def errors(codes: set[str]) -> set[str]:
    """Keep the codes that are errors."""
    return {code for code in codes if find(code).severity is Severity.ERROR}


@pytest.mark.parametrize("row", ROWS)
def test_the_failing_example_has_this_fault_and_no_other_error(row, found) -> None:
    """An example of one fault that showed another would teach the wrong thing."""
    codes = found(row, row.fails)

    assert row.code in codes
    assert errors(codes) <= {row.code}


@pytest.mark.parametrize("row", ROWS)
def test_the_passing_example_has_it_not(row, found) -> None:
    """The neighbour is right, not only wrong in another way."""
    codes = found(row, row.passes)

    assert row.code not in codes
    assert set() == errors(codes)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_whole(row) -> None:
    """Topic and number, a one-line title without a full stop, a reason in sentences."""
    assert re.fullmatch(r"(VAL|PAR|MEM|ENG|STK|NET|OPS|SEC|GIT|PLG|CLU)[0-9]{3}", row.code)
    assert len(row.title) < 90
    assert not row.title.endswith(".")
    assert row.why.endswith(".")


def test_the_package_uses_every_code_and_no_other() -> None:
    """A code in the source without a row, or a row that nothing yields, is a fault."""
    folders = ("checks", "manifests", "live", "gitops")
    files = [file for folder in folders for file in (PACKAGE / folder).rglob("*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    used = set(re.findall(r'"([A-Z]{3}[0-9]{3})"', source))

    assert set(registry()) == used


def test_the_chart_uses_every_code_of_its_layer_and_no_other() -> None:
    """The chart's messages begin with codes of the registry."""
    source = "".join(file.read_text(encoding="utf-8") for file in (CHART / "templates").rglob("*.tpl"))
    used = set(re.findall(r"^([A-Z]{3}[0-9]{3}) ", source, re.MULTILINE))

    assert {code for code, row in registry().items() if row.layer is Layer.CHART} == used


def test_a_code_is_found_in_any_case() -> None:
    """People type small letters."""
    assert find("par001").code == "PAR001"


def test_an_unknown_code_is_wrong_use() -> None:
    """The message says where the list is."""
    with pytest.raises(UsageError, match="there is no finding XYZ999; `lockstep explain` lists all"):
        find("XYZ999")
