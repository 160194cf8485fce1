"""Groups that end with the test, and show their logs when it failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from .pods import LAUNCH, Group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

sys.path.insert(0, str(LAUNCH))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember how a test went, for its fixtures."""
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED = pytest.StashKey[bool]()


@pytest.fixture
def make_group(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Group]]:
    """Return a maker of groups; no engine of theirs may ever break a rule."""
    groups: list[Group] = []

    def make(count: int = 2, **options: object) -> Group:
        folder = tmp_path / f"group-{len(groups)}"
        folder.mkdir()
        groups.append(Group(folder, count, **options))
        return groups[-1]

    yield make
    for group in groups:
        group.close()
        if request.node.stash.get(FAILED, True):
            for pod in group.all:
                print(f"--- {pod.name}\n{pod.text()[-6000:]}")  # noqa: T201 - pytest shows it beside the failure
        assert group.violations() == []
