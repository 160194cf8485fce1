"""The controllers of a cluster: whether something installs them, and whether their settings let a model start."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError
from lockstep.findings import Finding
from lockstep.gitops.deployed import file_of, values_files
from lockstep.release import table, whole
from lockstep.yamlfile import parse, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lockstep.gitops.applications import Application
    from lockstep.gitops.deployed import Deployed
    from lockstep.gitops.fleet import Fleet
    from lockstep.release import Release
    from lockstep.yamlfile import Value, Values

    Found = Iterator[tuple[Path, Finding]]

# Charts by what needs them; the names are those of the projects' own charts.
_STACKS: Final = {"lws": ("lws",), "kueue": ("kueue",), "grove": ("grove-charts",), "deployment": ()}
_MANAGERS: Final = {"kueue": ("kueue",), "kai": ("kai-scheduler",), "volcano": ("volcano",), "none": ()}
_FRAMEWORKS: Final = {"lws": "leaderworkerset.x-k8s.io/leaderworkerset", "kueue": "statefulset"}
_ROOM: Final = 600  # seconds above startup.seconds, as in every timer that the chart sets itself
_UNITS: Final = {
    unit: Decimal(size)
    for unit, size in (("h", "3600"), ("m", "60"), ("s", "1"), ("ms", "1e-3"), ("us", "1e-6"), ("ns", "1e-9"))
}
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us|ns))+")


def installed(fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Warn of a release whose stack or queue nothing installs on its cluster."""
    charts = {(each.server, source.chart) for each in fleet.applications for source in each.sources if source.chart}
    for each in deployed:
        if each.release is None:
            continue
        for chart in dict.fromkeys(_needs(each.release)):
            if (each.application.server, chart) not in charts:
                yield (
                    file_of(fleet, each.application),
                    Finding(
                        "GIT008",
                        "",
                        f"{each.application.name} needs the controllers of the chart {chart}, and no Application "
                        f"installs it on {each.application.server}",
                        "Give the cluster's Secret the label of the addon, unless it is installed otherwise.",
                        {"chart": chart, "stack.name": each.release.stack.name, "queue.manager": each.release.manager},
                    ),
                )


def _needs(release: Release) -> tuple[str, ...]:
    return (*_STACKS.get(release.stack.name, ()), *_MANAGERS.get(release.manager, ()))


def patience(fleet: Fleet, deployed: list[Deployed]) -> Found:
    """Refuse a Kueue that takes a group's GPUs away before its model can have been loaded."""
    for kueue in fleet.applications:
        config = _config(fleet, kueue)
        waiting = table(config, "waitForPodsReady")
        here = [each for each in deployed if _under_kueue(each, kueue)]
        if waiting and here:
            slowest = max(here, key=_startup)
            needed = _startup(slowest) + _ROOM
            timeout = str(waiting.get("timeout") or "5m")
            for key, written in (
                ("timeout", timeout),
                ("recoveryTimeout", str(waiting.get("recoveryTimeout") or timeout)),
            ):
                seconds = _seconds(written)
                if seconds is None or seconds < needed:
                    yield (
                        _values_file(fleet, kueue),
                        Finding(
                            "GIT007",
                            f"waitForPodsReady.{key}",
                            f"Kueue of {kueue.name} gives a group up that is not Ready after {written}, but "
                            f"{slowest.application.name} may take {_startup(slowest)} s to start",
                            f"Set waitForPodsReady.{key} to {_written(needed)} or more.",
                            {key: written, "startup.seconds": _startup(slowest)},
                        ),
                    )
        yield from _frameworks(fleet, kueue, config, here)


def _frameworks(fleet: Fleet, kueue: Application, config: Mapping[str, Value], here: list[Deployed]) -> Found:
    """Refuse a Kueue that does not look at the kind of object that a release has."""
    known = table(config, "integrations").get("frameworks")
    for each in here:
        framework = _FRAMEWORKS.get(each.release.stack.name) if each.release else None
        if isinstance(known, list) and framework and framework not in known:
            yield (
                _values_file(fleet, kueue),
                Finding(
                    "GIT007",
                    "integrations.frameworks",
                    f"Kueue of {kueue.name} does not look at {framework}, which {each.application.name} is made of: "
                    "its pods start without a quota, or wait for ever",
                    f"Add {framework} to integrations.frameworks.",
                    {"integrations.frameworks": known},
                ),
            )


def _under_kueue(each: Deployed, kueue: Application) -> bool:
    return each.release is not None and each.release.manager == "kueue" and each.application.server == kueue.server


def _startup(each: Deployed) -> int:
    return whole(table(each.values, "startup").get("seconds", 0))


def _config(fleet: Fleet, application: Application) -> Values:
    """Read the configuration that an Application gives Kueue; empty if it installs something else."""
    if all(source.chart != "kueue" for source in application.sources):
        return {}
    file = _values_file(fleet, application)
    where = str(file)
    try:
        written = table(read(file) if file.is_file() else {}, "managerConfig").get("controllerManagerConfigYaml")
        where += ": managerConfig.controllerManagerConfigYaml"
        return parse(str(written or ""))
    except ValuesError as error:
        raise ValuesError(f"{where}: {error}") from None


def _values_file(fleet: Fleet, application: Application) -> Path:
    files = [path for _, path in values_files(application)]
    return fleet.around.tree.root / files[-1] if files else application.file


def _seconds(written: str) -> Decimal | None:
    """Read a duration as Go writes it."""
    if not _DURATION.fullmatch(written):
        return None
    parts = re.findall(r"([0-9.]+)(h|ms|m|s|us|ns)", written)
    return sum((Decimal(number) * _UNITS[unit] for number, unit in parts), Decimal(0))


def _written(seconds: int) -> str:
    hours, minutes = divmod(-(-seconds // 60), 60)
    return f"{hours}h{minutes}m" if hours else f"{minutes}m"
