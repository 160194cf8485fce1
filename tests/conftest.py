"""What the suites on clusters have in common: they can be told how long they may take."""

from __future__ import annotations

import time

import pytest

DEADLINE = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run that has only so much time end by itself, with a summary."""
    parser.addoption("--cluster-seconds", type=float, metavar="SECONDS", help="skip what is left on clusters then")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what there is no time for."""
    seconds = item.config.getoption("cluster_seconds", None)
    if seconds is None or not item.get_closest_marker("cluster"):
        return
    if time.monotonic() > item.session.stash.setdefault(DEADLINE, time.monotonic() + seconds):
        pytest.skip(f"the {seconds:.0f} s for the suite are over (--cluster-seconds)")
