"""Upgrade from the previous release of the chart, as Git's tags have it, to the one under test."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from ci.sim.folders import REPOSITORY

from tests.cluster.queues import queue_of
from tests.cluster.release import two_nodes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Release

pytestmark = pytest.mark.usefixtures("lws", "kueue")


def git(*arguments: str) -> bytes:
    """Ask Git; what it cannot answer is no release."""
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else b""


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """Take the chart out of the newest tag of a version."""
    tags = git("tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=-version:refname").decode().split()
    if not tags:
        pytest.skip("there is no previous release: git has no tag v<version>")
    with tarfile.open(fileobj=io.BytesIO(git("archive", tags[0], "charts/serving"))) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "charts" / "serving"


@pytest.mark.parametrize("stack", ["lws", "kueue"])
def test_the_previous_release_is_upgraded(release: Release, previous: Path, stack: str, tmp_path: Path) -> None:
    """Nothing that the API server or Kueue freezes has changed; every pod is replaced at most once and none is left."""
    values = two_nodes(stack={"name": stack}, replicas=2, pod={"annotations": {"sim/ready-delay": "2s"}})
    with queue_of(release, 32):
        replace(release, chart=previous).apply(values)
        old = {pod["metadata"]["name"] for pod in release.ready(4)}

        with release.recorded(tmp_path) as created:
            release.apply(values)
            release.settled()
            pods = release.ready(4)

    assert len(created) in (0, 4)
    assert 4 == len(pods)
    assert len(set(created)) == len(created)
    assert stack != "lws" or old == {pod["metadata"]["name"] for pod in pods}
