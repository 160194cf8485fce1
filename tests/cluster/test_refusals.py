"""``lockstep check`` refuses what the controllers refuse or never finish, in the same cases and for the same reason."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cluster import server
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Manifest, Release

pytestmark = pytest.mark.usefixtures("lws")


def check(release: Release, folder: Path, values: Manifest, name: str = "model") -> set[str]:
    """Codes of the errors that ``lockstep check`` finds."""
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [sys.executable, "-m", "lockstep", "check", str(file), "--chart", str(release.chart), "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["findings"]
    return {finding["code"] for finding in findings if finding["severity"] == "error"}


def group(release: Release, name: str = "model") -> Manifest:
    """Render the two-node LeaderWorkerSet, to be spoiled by hand where the chart itself would refuse."""
    text = release.helm("template", "model", str(release.chart), values=two_nodes()).stdout
    found = next(item for item in yaml.safe_load_all(text) if item and item["kind"] == "LeaderWorkerSet")
    found["metadata"]["name"] = name
    return dict(found)


def test_a_rollout_that_may_neither_remove_nor_add_is_refused_by_both(release: Release, tmp_path: Path) -> None:
    """STK003: maxUnavailable 0 and maxSurge 0."""
    rollout = {"maxUnavailable": 0, "maxSurge": 0, "partition": 0}
    spoiled = group(release)
    spoiled["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"] = rollout

    answer = server.offer(release.cluster, release.namespace, spoiled)

    assert "must not be 0" in answer
    assert "STK003" in check(release, tmp_path, two_nodes(rollout=rollout))


@pytest.mark.parametrize("name", ["1model", "model.a"], ids=["starts with a digit", "holds a dot"])
def test_a_name_that_is_no_dns_label_is_refused_by_both(release: Release, tmp_path: Path, name: str) -> None:
    """STK002: Services and pods carry the name."""
    answer = server.offer(release.cluster, release.namespace, group(release, name))

    assert "DNS-1035" in answer
    assert "STK002" in check(release, tmp_path, two_nodes(), name=name)


# LeaderWorkerSet accepts both; the worker's label <name>-<group>-<hash> has room for 63 characters.
LONGEST, TOO_LONG = "m" * 50, "m" * 51


def test_the_longest_name_makes_a_whole_group(release: Release, tmp_path: Path) -> None:
    """STK002 lets it pass."""
    long = dataclasses.replace(release, name=LONGEST)

    long.apply(two_nodes())
    pods = long.ready(2)
    long.uninstall()  # the fixture knows its own name only, and nodes are few where pods are real

    assert 2 == len(pods)
    assert "STK002" not in check(release, tmp_path, two_nodes(), name=LONGEST)


def test_one_letter_more_makes_a_leader_without_workers(release: Release, tmp_path: Path) -> None:
    """STK002 refuses it; LeaderWorkerSet accepts it, and the group waits for its workers for ever.

    About one hash in four has nine characters instead of ten, which leaves room: then another template is tried.
    """
    refusal = "must be no more than 63"
    for attempt in range(20):
        spoiled = group(release, TOO_LONG)
        spoiled["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"]["attempt"] = str(attempt)
        create(release, spoiled)
        eventually("the worker, or its refusal", lambda: len(release.get("pods")) > 1 or refusal in said(release))
        if refusal in said(release):
            break
        release.cluster.kubectl(f"delete leaderworkerset {TOO_LONG} --cascade=foreground", namespace=release.namespace)
        eventually("the end of its pods", lambda: not release.get("pods"))
    pods = [pod["metadata"]["name"] for pod in release.get("pods")]

    assert [f"{TOO_LONG}-0"] == pods
    assert "STK002" in check(release, tmp_path, two_nodes(), name=TOO_LONG)


def test_a_single_replica_with_surge_only_never_rolls(release: Release, tmp_path: Path) -> None:
    """STK004: LeaderWorkerSet 0.8 takes the surge group away at once and replaces nothing."""
    rollout = {"maxUnavailable": 0, "maxSurge": 1, "partition": 0}
    release.apply(two_nodes())
    release.ready(2)
    before = release.uids()
    changes: list[dict[str, Any]] = [
        {"op": "replace", "path": "/spec/rolloutStrategy/rollingUpdateConfiguration", "value": rollout},
        *(
            {"op": "replace", "path": f"/spec/leaderWorkerTemplate/{role}/spec/containers/0/image", "value": "new:1"}
            for role in ("leaderTemplate", "workerTemplate")
        ),
    ]

    release.cluster.kubectl(
        f"patch leaderworkerset model --type=json --patch={json.dumps(changes, separators=(',', ':'))}",
        namespace=release.namespace,
    )
    eventually("the surge group to be taken away", lambda: "deleting surge replica" in said(release))
    after = release.settled()

    assert before == after
    assert "STK004" in check(release, tmp_path, two_nodes(rollout=rollout))


def test_two_volumes_at_one_path_are_refused_by_both(release: Release, tmp_path: Path) -> None:
    """OPS003: the chart's volume and the user's at the same path."""
    spoiled = group(release)
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "tmp", "mountPath": "/dev/shm"}]
    leader_of(spoiled)["containers"][0]["volumeMounts"] = mounts
    volume = {"volumes": {"x": {"emptyDir": {}}}, "volumeMounts": {"/dev/shm": {"name": "x"}}}

    answer = server.offer(release.cluster, release.namespace, spoiled)

    assert 'Duplicate value: {"mountPath":"/dev/shm"}' in answer
    assert "OPS003" in check(release, tmp_path, two_nodes(pod=volume))


def test_a_probe_with_two_handlers_makes_no_pod(release: Release, tmp_path: Path) -> None:
    """OPS004: LeaderWorkerSet does not look into probes and accepts it; the API server refuses the pods."""
    handlers = {"httpGet": {"path": "/health", "port": 8000}, "tcpSocket": {"port": 8000}}
    spoiled = group(release)
    leader_of(spoiled)["containers"][0]["livenessProbe"] = handlers

    assert "" == server.offer(release.cluster, release.namespace, spoiled)
    assert "may not specify more than 1 handler type" in server.offer(
        release.cluster, release.namespace, pod_of(spoiled)
    )
    assert "OPS004" in check(release, tmp_path, two_nodes(leader={"probes": {"liveness": handlers}}))


def test_a_gpu_request_unlike_its_limit_makes_no_pod(release: Release, tmp_path: Path) -> None:
    """OPS001: the LeaderWorkerSet is accepted; its StatefulSet is not, and only the controller's log says why."""
    resources = {"requests": {"nvidia.com/gpu": "4"}, "limits": {"nvidia.com/gpu": "8"}}
    spoiled = group(release)
    for role in ("leaderTemplate", "workerTemplate"):
        spoiled["spec"]["leaderWorkerTemplate"][role]["spec"]["containers"][0]["resources"] = resources
    pod = pod_of(spoiled)
    create(release, spoiled)

    failed = eventually("the failure", lambda: "Failed to create leader statefulset" in said(release))

    assert failed
    assert [] == release.get("pods")
    assert "must be equal to nvidia.com/gpu limit of 8" in server.offer(release.cluster, release.namespace, pod)
    assert "OPS001" in check(release, tmp_path, two_nodes(resources=resources))


def leader_of(item: Manifest) -> Manifest:
    """Give the spec of the leaders' pod template."""
    spec: Manifest = item["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    return spec


def pod_of(item: Manifest) -> Manifest:
    """Make the leader's pod, as its StatefulSet would; its ServiceAccount is not there."""
    spec = {key: value for key, value in leader_of(item).items() if key != "serviceAccountName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}


def create(release: Release, item: Manifest) -> None:
    """Create a LeaderWorkerSet without the rest of its release."""
    for role in ("leaderTemplate", "workerTemplate"):
        item["spec"]["leaderWorkerTemplate"][role]["spec"].pop("serviceAccountName")
    release.cluster.kubectl("create", std_input=json.dumps(item), namespace=release.namespace)


def said(release: Release) -> str:
    """Messages of all events of the namespace."""
    return "\n".join(event.get("message", "") for event in release.get("events"))
