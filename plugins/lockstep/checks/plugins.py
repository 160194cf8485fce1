"""The checks of other packages, and what is wrong with their packages."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final, cast

from lockstep.codes import known, registry
from lockstep.findings import Finding
from lockstep.plugins import CHECKS, CODES, GROUPS, Plugin, plugins, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lockstep.release import Release

SLOW: Final = 1.0  # seconds: a whole check takes a quarter of that


def usable(_release: Release) -> Iterator[Finding]:
    """Refuse a plug-in that cannot be used, and warn of one that holds every check up."""
    for plugin in (each for group in GROUPS for each in plugins(group)):
        if plugin.fault is not None:
            yield failed(plugin, plugin.fault)
        elif plugin.group == CODES and (
            taken := sorted(set(cast("dict[str, object]", plugin.value)) & set(registry()))
        ):
            yield failed(plugin, f"{', '.join(taken)} is a code of Lockstep itself")
        if plugin.seconds > SLOW:
            yield Finding(
                "PLG002",
                "",
                f"plug-in {plugin.name}: its import took {plugin.seconds:.1f} s",
                "Let its module import what it needs inside its functions, or remove the package.",
                {"seconds": round(plugin.seconds, 1)},
            )


def run(release: Release) -> Iterator[Finding]:
    """Run the checks of plug-ins; one that fails does not hinder the others."""
    for plugin in plugins(CHECKS):
        if plugin.fault is None:
            yield from _guarded(plugin, release)


def failed(plugin: Plugin, reason: str) -> Finding:
    """Name the plug-in."""
    return Finding("PLG001", "", f"plug-in {plugin.name}: {reason}", "Mend or remove that package.")


def _guarded(plugin: Plugin, release: Release) -> Iterator[Finding]:
    check = cast("Callable[[Release], Iterable[object]]", plugin.value)
    found: list[Finding] = []
    reason = None
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of the output
            for each in check(release):
                if not isinstance(each, Finding):
                    reason = f"it yielded {type(each).__name__}, not a finding"
                elif each.code not in known():
                    reason = f"it yielded the code {each.code}, which no {CODES} describes"
                else:
                    found.append(each)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a stranger's check does is its fault
        reason = f"it failed: {said(error)}"
    yield from found
    if reason is not None:
        yield failed(plugin, reason)
