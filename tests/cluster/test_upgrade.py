"""A change rolls each group exactly once, or none; nothing deadlocks.

The pods are slow to be Ready here, as models are: an update that does not wait would take all groups at once.
"""

from __future__ import annotations

import dataclasses
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.release import GROUP, WORKER, is_ready, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("lws")

ALL = ["model-0", "model-0-1", "model-1", "model-1-1"]
SLOW = {"annotations": {"sim/ready-delay": "2s"}}


def engine(version: str) -> Manifest:
    """Values that choose an engine's version, and so its image."""
    return {"name": "vllm", "version": version}


def test_a_new_image_rolls_each_group_once(release: Release, tmp_path: Path) -> None:
    """Every pod is replaced once, and the second group only when the first is Ready again."""
    release.apply(two_nodes(replicas=2, pod=SLOW, engine=engine("0.32.0")))
    release.ready(4)

    with release.recorded(tmp_path) as created:
        release.apply(two_nodes(replicas=2, pod=SLOW, engine=engine("0.33.0")))
        after = release.ready(4, image=release.image("0.33.0"))
        release.settled()

    assert ALL == sorted(created)
    assert {"0", "1"} == {pod["metadata"]["labels"][GROUP] for pod in after}


def test_a_no_op_upgrade_rolls_nothing(release: Release, tmp_path: Path) -> None:
    """The same values again, as Argo CD applies them: no pod is created."""
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    before = release.uids()

    with release.recorded(tmp_path) as created:
        release.apply(two_nodes(replicas=2))
        release.settled()

    assert [] == created
    assert before == release.uids()


def test_an_edited_launch_script_rolls_each_group_once(release: Release, tmp_path: Path) -> None:
    """A script lies in a ConfigMap, whose change alone would replace no pod."""
    release.apply(two_nodes(replicas=2, pod=SLOW))
    release.ready(4)
    before = release.uids()
    edited = edited_chart(release.chart, tmp_path)

    with release.recorded(tmp_path) as created:
        dataclasses.replace(release, chart=edited).apply(two_nodes(replicas=2, pod=SLOW))
        release.replaced(before, 4)
        release.settled()

    assert ALL == sorted(created)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"group": {"nodes": 2, "gpusPerNode": 4}}, id="GPUs of a node"),
        pytest.param({"group": {"nodes": 3, "gpusPerNode": 8}}, id="nodes of a group"),
        pytest.param({"pod": {"tolerations": {"spot": {"key": "spot", "operator": "Exists"}}}}, id="tolerations"),
        pytest.param({"engine": {"name": "vllm", "args": {"max-model-len": 32768}}}, id="engine arguments"),
        pytest.param({"sharedMemory": {"size": "32Gi"}}, id="shared memory"),
    ],
)
def test_a_change_goes_through(release: Release, change: dict[str, Any]) -> None:
    """LeaderWorkerSet freezes nothing that values can change."""
    release.apply(two_nodes(replicas=2))
    release.ready(4)
    before = release.uids()

    release.apply(two_nodes(replicas=2, **change))
    pods = release.replaced(before, 2 * change.get("group", {}).get("nodes", 2))
    revisions = {pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/template-revision-hash"] for pod in pods}

    assert 1 == len(revisions)


def test_a_surge_still_costs_one_group_for_a_while(release: Release, tmp_path: Path) -> None:
    """With maxUnavailable 0 LeaderWorkerSet 0.8 takes the spare group away before the last old one is replaced."""
    surge = {"maxUnavailable": 0, "maxSurge": 1, "partition": 0}
    release.apply(two_nodes(replicas=2, rollout=surge, pod=SLOW, engine=engine("0.32.0")))
    release.ready(4)
    before, fewest = release.uids(), 2

    with release.recorded(tmp_path) as created:
        release.apply(two_nodes(replicas=2, rollout=surge, pod=SLOW, engine=engine("0.33.0")))

        def rolled() -> bool:
            nonlocal fewest
            pods = release.pods()
            leaders = [pod for pod in pods if pod["metadata"]["labels"][WORKER] == "0"]
            fewest = min(fewest, sum(map(is_ready, leaders)))
            return not set(before.values()) & {pod["metadata"]["uid"] for pod in pods}

        eventually("the old pods to go", rolled)
        release.ready(4)

    assert 1 == fewest
    assert [*ALL, "model-2", "model-2-1"] == sorted(created)


def test_a_partition_holds_back_the_lower_groups(release: Release) -> None:
    """Only groups from the partition up get the new image; the others keep their pods."""
    held = {"maxUnavailable": 1, "maxSurge": 0, "partition": 1}
    release.apply(two_nodes(replicas=2, engine=engine("0.32.0"), rollout=held))
    release.ready(4)
    before = release.group(0)

    last = release.group(1)
    release.apply(two_nodes(replicas=2, engine=engine("0.33.0"), rollout=held))
    release.replaced(last, 4)
    release.settled()

    assert before == release.group(0)
    assert {release.image("0.33.0")} == {
        container["image"]
        for pod in release.pods()
        if pod["metadata"]["labels"][GROUP] == "1"
        for container in pod["spec"]["containers"]
    }


def edited_chart(chart: Path, folder: Path) -> Path:
    """Copy the chart and add a line to its launch script."""
    copy = folder / "serving"
    shutil.copytree(chart, copy)
    script = copy / "files" / "launch" / "launch.sh"
    script.write_text(script.read_text() + "# edited\n")
    return copy
