"""The Applications whose chart lies in the repository, as Helm and the checks see them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from lockstep import checks, render
from lockstep.errors import LockstepError
from lockstep.findings import Finding, has_errors
from lockstep.inputs import Input
from lockstep.release import build, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lockstep.gitops.applications import Application, Source
    from lockstep.gitops.fleet import Fleet
    from lockstep.release import Release
    from lockstep.yamlfile import Values

_WORKERS: Final = 4


@dataclass(frozen=True)
class Deployed:
    """One Application with what it installs.

    Parameters
    ----------
    application : Application
        The Application.
    given : Input or None
        Its chart and values files; None if a file is missing or the chart lies elsewhere.
    missing : tuple of (str, str)
        Files that are not there: as written, and where they were looked for.
    elsewhere : Source or None
        Its chart, if that lies in another repository or at another revision.
    findings : tuple of Finding
        What the checks say of a release of charts/serving, or Helm of another chart.
    values : Values
        Its values, empty if they are not known.
    release : Release or None
        The release, if it is one of charts/serving without errors.
    objects : tuple of Values
        What it installs, empty if that is not known.
    """

    application: Application
    given: Input | None
    missing: tuple[tuple[str, str], ...]
    elsewhere: Source | None
    findings: tuple[Finding, ...]
    values: Values
    release: Release | None
    objects: tuple[Values, ...]


def all_of(fleet: Fleet, applications: Iterable[Application] | None = None) -> list[Deployed]:
    """Render every Application whose chart is a folder of a repository.

    Parameters
    ----------
    fleet : Fleet
        The tree.
    applications : iterable of Application, optional
        Those to look at; all of the tree if absent.

    Returns
    -------
    list of Deployed
        In the order of the Applications.
    """
    wanted = fleet.applications if applications is None else applications
    with ThreadPoolExecutor(_WORKERS) as pool:
        return list(pool.map(lambda each: _deployed(fleet, each), (each for each in wanted if chart_of(each))))


def chart_of(application: Application) -> Source | None:
    """Give the source of an Application that is a folder of a repository; None if there is none."""
    return next((source for source in application.sources if source.path and not source.ref), None)


def values_files(application: Application) -> Iterator[tuple[str, str]]:
    """Give the values files of an Application: as written, and from the top of their repository."""
    for source in application.sources:
        for written in source.value_files:
            yield written, _resolved(written, source.path or "")


def _deployed(fleet: Fleet, application: Application) -> Deployed:
    source = chart_of(application)
    assert source is not None  # noqa: S101 - the caller has looked
    if source.repository != fleet.around.repository or source.revision not in fleet.around.revisions:
        return Deployed(application, None, (), source, (), {}, None, ())
    root = fleet.around.tree.root
    files = list(values_files(application))
    missing = tuple((written, path) for written, path in files if not (root / path).is_file())
    chart = root / str(source.path)
    if missing or not (chart / "Chart.yaml").is_file():
        gone = missing or ((str(source.path), f"{source.path}/Chart.yaml"),)
        return Deployed(application, None, gone, None, (), {}, None, ())
    *bases, file = [root / path for _, path in files] or [chart / "values.yaml"]
    given = Input(file, tuple(bases), chart, source.release or application.name, application.namespace)
    return _looked_at(application, given)


def _looked_at(application: Application, given: Input) -> Deployed:
    serving = (given.chart / "files" / "owned.yaml").is_file()
    findings = checks.run(given) if serving else []
    if has_errors(findings):
        return Deployed(application, given, (), None, tuple(findings), {}, None, ())
    try:
        objects, values = render.objects(given), given.values()
    except LockstepError as error:
        findings.append(
            Finding(
                "GIT013",
                "",
                f"{application.name} does not render: {error}",
                "Mend the values.",
                {"chart": given.chart.name},
            )
        )
        return Deployed(application, given, (), None, tuple(findings), {}, None, ())
    release = build(given, values) if serving else None
    return Deployed(application, given, (), None, tuple(findings), values, release, tuple(filter(_synced, objects)))


def _synced(item: Values) -> bool:
    """Say whether Argo CD applies an object: it has no equivalent of Helm's test hooks."""
    return table(table(item, "metadata"), "annotations").get("helm.sh/hook") != "test"


def _resolved(written: str, chart: str) -> str:
    """Find a values file as Argo CD does: ``$ref/`` is the top of a repository, else it lies by the chart."""
    if written.startswith("$"):
        return written.partition("/")[2]
    parts: list[str] = []
    for part in PurePosixPath(chart, written).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def on(deployed: list[Deployed], server: str) -> Iterator[Deployed]:
    """Give those of one cluster."""
    return (each for each in deployed if each.application.server == server)


def file_of(fleet: Fleet, application: Application) -> Path:
    """Give the file to look at for an Application: its config, else where it is written."""
    return fleet.around.tree.root / application.config if application.config else application.file
