"""Kueue itself: quota for a whole gang or nothing. What the chart makes of it is tested with the stack that uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.queues import queue_of, set_quota
from tests.cluster.release import is_ready
from tests.cluster.waiting import calm, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.release import Manifest, Release


pytestmark = pytest.mark.usefixtures("kueue")


@pytest.fixture
def queue(release: Release) -> Iterator[str]:
    """Give a local queue with quota for 8 GPUs."""
    with queue_of(release, 8) as name:
        yield name


def gang(queue: str, image: str) -> Manifest:
    """Give a StatefulSet of two pods with 8 GPUs each, which do nothing."""
    container = {
        "name": "engine",
        "image": image,
        "command": ["sleep", "600"],
        "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}},
    }
    spec = {"containers": [container], "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "gang", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "replicas": 2,
            "serviceName": "gang",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "gang"}},
            "template": {"metadata": {"labels": {"app": "gang"}}, "spec": spec},
        },
    }


def test_a_gang_waits_whole_and_starts_whole(release: Release, queue: str) -> None:
    """With quota for one of two pods none is placed; with quota for both they are."""
    release.cluster.kubectl(
        "create", std_input=json.dumps(gang(queue, release.image("0.33.0"))), namespace=release.namespace
    )
    eventually("two pods", lambda: len(release.get("pods")) == 2)
    waiting = calm("the pods", lambda: [pod["spec"].get("nodeName") for pod in release.get("pods")])

    set_quota(release, 16)
    eventually("both to be Ready", lambda: [is_ready(pod) for pod in release.get("pods")] == [True, True])

    assert [None, None] == waiting


def test_the_older_version_of_its_api_is_converted(release: Release, queue: str) -> None:
    """Through the conversion webhook: v1beta1 calls the cohort otherwise."""
    read = release.cluster.kubectl(f"get localqueues.v1beta1.kueue.x-k8s.io {queue}", namespace=release.namespace)

    assert "kueue.x-k8s.io/v1beta1" == read["apiVersion"]
