"""The cluster suite never fails for want of a cluster or of time: it says what was missing and is done."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from ci.sim.folders import REPOSITORY

from tests.cluster import clusters

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param("--cluster-type=sim", "they need etcd, kubernetes, kwok of the simulated cluster", id="build"),
        pytest.param("--cluster-type=existing --cluster-seconds=-1", "the -1 s for the suite are over", id="time"),
    ],
)
def test_what_is_missing_is_a_reason_to_skip(options: str, reason: str, tmp_path: Path) -> None:
    """Every test is skipped, in one line that says why, and the run has not failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cluster/test_kueue.py"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "COLUMNS": "200"}

    done = subprocess.run(
        [*command, *options.split()],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert 1 == done.stdout.count("SKIPPED")
    assert reason in done.stdout


@pytest.mark.parametrize(
    ("words", "kind", "option"),
    [
        pytest.param("existing takes the cluster from --kubeconfig or KUBECONFIG", "existing", None, id="neither"),
        pytest.param("existing finds no kubeconfig nowhere", "existing", "nowhere", id="no file"),
        pytest.param("gets no answer from the cluster of .*test_suite.py: error", "existing", __file__, id="no answer"),
        pytest.param("kubeconfig: make kind", "kind", None, id="no kind"),
    ],
)
def test_a_cluster_that_is_not_there_ends_the_run_in_one_line(
    words: str, kind: str, option: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names a cluster wants it, so that nothing is skipped."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(clusters, "KIND", tmp_path / "kubeconfig")

    with pytest.raises(pytest.exit.Exception, match=words), clusters.kubeconfig(kind, option):
        raise AssertionError("a cluster was found")
