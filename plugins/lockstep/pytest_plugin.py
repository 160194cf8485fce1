"""The pytest plug-in: ``pytest --lockstep deployments/`` makes tests of every values file.

========== =================================================================================================
``schema`` the file is one YAML mapping, and its values fit the chart's schema
``checks`` no error by `lockstep check`; a warning of it is a warning of pytest (``-W error`` makes it fail)
``render`` Helm renders it
``objects`` what Helm rendered fits the schemas of Kubernetes and of the stack's own kinds
========== =================================================================================================

pytest imports this module at every start, with the option or without, so whatever takes time is imported where it is
used.
"""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from lockstep.findings import Finding
    from lockstep.inputs import Input
    from lockstep.yamlfile import Values

__all__ = ["LockstepWarning"]


class LockstepWarning(pytest.PytestWarning):
    """A warning of ``lockstep check``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option and the settings."""
    parser.getgroup("lockstep").addoption(
        "--lockstep", action="store_true", help="make tests of values files of Lockstep's serving chart"
    )
    parser.addini("lockstep_files", "patterns of the names of values files", "args", ["values.yaml", "values.yml"])
    parser.addini("lockstep_values", "files or shipped presets beneath every values file, the lowest first", "args", [])
    parser.addini("lockstep_kubernetes", "version of Kubernetes whose schemas objects must fit (default: the newest)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ValuesFile | None:
    """Take files of these names, and YAML files that the command line names."""
    if not parent.config.getoption("lockstep") or file_path.suffix not in (".yaml", ".yml"):
        return None
    named = any(fnmatch(file_path.name, pattern) for pattern in parent.config.getini("lockstep_files"))
    if not named and not parent.session.isinitpath(file_path):
        return None
    file: ValuesFile = ValuesFile.from_parent(parent, path=file_path)
    return file


class ValuesFile(pytest.File):
    """One values file, which is one release."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give the four tests of a file."""
        for kind in (SchemaItem, ChecksItem, RenderItem, ObjectsItem):
            yield kind.from_parent(self, name=kind.title)

    @cached_property
    def given(self) -> Input:
        """The release; below a folder of deployments with the presets that its ``config.yaml`` names."""
        from lockstep.inputs import deployed

        return deployed(self.path, self.config.getini("lockstep_values"))

    @cached_property
    def findings(self) -> list[Finding]:
        """What the checks say."""
        from lockstep.checks import run

        return run(self.given)

    @property
    def unfit(self) -> list[Finding]:
        """The errors of the file itself and of its shape."""
        return [finding for finding in self.findings if finding.code.startswith("VAL")]

    @property
    def refused(self) -> bool:
        """Whether Helm would refuse the values, too."""
        from lockstep.codes import Layer, Severity, known

        rows = (known()[finding.code] for finding in self.findings)
        return bool(self.unfit) or any(row.layer is Layer.CHART and row.severity is Severity.ERROR for row in rows)

    @cached_property
    def objects(self) -> list[Values]:
        """What Helm renders."""
        from lockstep import helm, render
        from lockstep.errors import UsageError

        if self.refused:
            pytest.skip("the chart refuses the values; the tests schema and checks say why")
        try:
            helm.find()
        except UsageError as error:
            pytest.skip(f"needs helm: {error}")
        return render.objects(self.given)


class FindingsError(Exception):
    """Errors were found; the text says them."""


class _Item(pytest.Item):
    title: ClassVar[str]
    parent: ValuesFile

    def fail(self, findings: list[Finding]) -> None:
        """Fail with findings, if there are any."""
        if findings:
            raise FindingsError(_said(self.path, findings))

    def repr_failure(self, excinfo: ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]
        """Show what is wrong with the file, not where in this plug-in that was noticed."""
        from lockstep.errors import LockstepError

        if isinstance(excinfo.value, (FindingsError, LockstepError, LockstepWarning)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name file and test in the headings of failures."""
        return self.path, None, f"{self.parent.nodeid} {self.name}"


class SchemaItem(_Item):
    """The values fit the chart's schema."""

    title = "schema"

    def runtest(self) -> None:
        """Look at the file and its shape."""
        self.fail(self.parent.unfit)


class ChecksItem(_Item):
    """The checks find no error."""

    title = "checks"

    def runtest(self) -> None:
        """Look at everything that the schema does not hold; without an error, what is left are warnings."""
        from lockstep.findings import has_errors
        from lockstep.report.place import placed

        if self.parent.unfit:
            pytest.skip("the values do not fit the schema; the test schema says why")
        self.fail([finding for finding in self.parent.findings if has_errors([finding])])
        for finding, line in placed(self.path, self.parent.findings):
            warning = LockstepWarning(_said(self.path, [finding]))
            warnings.warn_explicit(warning, None, str(self.path), line)  # shown with that line of the file


class RenderItem(_Item):
    """Helm renders the values."""

    title = "render"

    def runtest(self) -> None:
        """Render."""
        assert self.parent.objects, "Helm rendered nothing"  # noqa: S101 - a test


class ObjectsItem(_Item):
    """The rendered objects fit their schemas."""

    title = "objects"

    def runtest(self) -> None:
        """Hold every object against its schema."""
        needs = "needs kubernetes-validate: pip install 'lockstep-serving[pytest]'"
        pytest.importorskip("kubernetes_validate", reason=needs)
        from lockstep.objects import faults

        found = list(faults(self.parent.objects, self.config.getini("lockstep_kubernetes") or None))
        if found:
            raise FindingsError("\n".join(found))


def _said(file: Path, findings: list[Finding]) -> str:
    """Say findings as `lockstep check` does, each with its line."""
    from lockstep.report.place import placed, shown
    from lockstep.report.text import block

    return "\n".join(f"{shown(file)}:{line}: {block(finding)}" for finding, line in placed(file, findings))
