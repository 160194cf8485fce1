"""Groups of real pods: they form, answer, lose a rank and come back, and how long that takes.

The supervisor and the launch scripts are those of the chart; the engine is what the site's values name. Every fault
says which pods may be replaced and which containers may start again, and ends with a completion.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from ci.kind.client import outage

from tests.cluster import pods, waiting
from tests.cluster.release import Release, two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.release import Manifest
    from tests.cluster.times import Times

pytestmark = [pytest.mark.usefixtures("lws", "real"), pytest.mark.timeout(900)]

MODEL = "deepseek-ai/DeepSeek-R1"
RECREATE = {"name": "lws", "lws": {"onPodLoss": "recreate"}}
REPLACE = {"name": "lws", "lws": {"onPodLoss": "replace"}}
LEADER, WORKER = "model-0", "model-0-1"


def form(release: Release, **changes: Any) -> dict[str, str]:
    """Install one group, wait until it answers, and return the pods' UIDs."""
    release.apply(two_nodes(**changes))
    release.ready(2)
    pods.client(release).start(release.name)
    eventually("an answer", lambda: pods.ask(release, MODEL))
    return release.uids()


def test_a_group_of_real_pods_forms_and_answers(release: Release, times: Times) -> None:
    """Both ranks run an engine, every token takes both, and only the leader is behind the Service."""
    started = time.monotonic()
    release.apply(two_nodes())
    release.ready(2)
    times("none: from helm install", ready=time.monotonic() - started)
    form(release)
    answer = pods.ask(release, MODEL, tokens=7)

    assert answer is not None
    assert 7 == answer["usage"]["completion_tokens"]
    assert [LEADER] == release.endpoints()
    assert [0, 0] == [pods.restarts(pod) for pod in release.pods()]


def lose(release: Release, fault: Callable[[Release, str], None], pod: str) -> dict[str, float]:
    """Do harm and ask all the time: after how many seconds answers end, come again, and all pods are Ready."""
    with pods.client(release).asking(MODEL, waiting.LIMIT) as answers:
        assert next(answers)
        started = time.monotonic()
        fault(release, pod)
        lost, back = outage(answers, started)
    release.ready(2)
    return {"lost": lost, "answers": back, "ready": time.monotonic() - started}


@pytest.mark.parametrize("pod", [WORKER, LEADER], ids=["worker", "leader"])
def test_a_killed_engine_costs_no_pod_and_no_container(release: Release, times: Times, pod: str) -> None:
    """The group restarts in place: LeaderWorkerSet sees nothing."""
    before = form(release)
    times(f"engine of the {role(pod)} killed", **lose(release, pods.kill_engine, pod))

    assert before == release.uids()
    assert [0, 0] == [pods.restarts(each) for each in release.pods()]
    assert "reason=engine-exit" in pods.log(release, pod)


@pytest.mark.parametrize("pod", [WORKER, LEADER], ids=["worker", "leader"])
def test_a_killed_container_starts_again_alone_with_replace(
    release: Release, times: Times, pytestconfig: pytest.Config, pod: str
) -> None:
    """The other rank waits for it in place."""
    need_docker(pytestconfig)
    before = form(release, stack=REPLACE)
    times(f"container of the {role(pod)} killed, replace", **lose(release, pods.kill_container, pod))

    assert before == release.uids()
    assert {LEADER: int(pod == LEADER), WORKER: int(pod == WORKER)} == {
        each["metadata"]["name"]: pods.restarts(each) for each in release.pods()
    }


@pytest.mark.parametrize("pod", [WORKER, LEADER], ids=["worker", "leader"])
def test_a_killed_container_recreates_the_group_with_recreate(
    release: Release, times: Times, pytestconfig: pytest.Config, pod: str
) -> None:
    """LeaderWorkerSet takes any restart for the loss of the group."""
    need_docker(pytestconfig)
    before = form(release, stack=RECREATE)
    times(f"container of the {role(pod)} killed, recreate", **lose(release, pods.kill_container, pod))

    assert set(before.values()).isdisjoint(release.uids().values())


@pytest.mark.parametrize(
    ("stack", "pod", "kept"),
    [
        pytest.param(REPLACE, WORKER, {LEADER}, id="worker-replace"),
        pytest.param(REPLACE, LEADER, set(), id="leader-replace"),
        pytest.param(RECREATE, WORKER, set(), id="worker-recreate"),
        pytest.param(RECREATE, LEADER, set(), id="leader-recreate"),
    ],
)
def test_a_deleted_pod(release: Release, times: Times, stack: Manifest, pod: str, kept: set[str]) -> None:
    """A lost leader always takes its workers with it; a lost worker the leader only with ``recreate``."""
    before = form(release, stack=stack)
    times(f"{role(pod)} pod deleted, {stack['lws']['onPodLoss']}", **lose(release, Release.delete_pod, pod))
    after = release.uids()

    assert kept == {name for name, uid in before.items() if after.get(name) == uid}


@pytest.mark.parametrize("pod", [WORKER, LEADER], ids=["worker", "leader"])
def test_without_the_supervisor_the_group_is_recreated(
    release: Release, times: Times, pytestconfig: pytest.Config, pod: str
) -> None:
    """What LeaderWorkerSet does by itself: the engine is the container, and with it all pods are made anew."""
    need_docker(pytestconfig)
    before = form(release, stack=RECREATE, supervisor={"enabled": False})
    times(f"container of the {role(pod)} killed, no supervisor", **lose(release, pods.kill_container, pod))

    assert set(before.values()).isdisjoint(release.uids().values())


def role(pod: str) -> str:
    """Role of a pod, by its name."""
    return "worker" if pod == WORKER else "leader"


def need_docker(config: pytest.Config) -> None:
    """Skip where the nodes are no containers of this machine."""
    if config.getoption("cluster_type") != "kind":
        pytest.skip("ends a container from its node: --cluster-type kind")


def test_helm_test_agrees_only_with_a_whole_group(release: Release) -> None:
    """While the worker finds no node the leader runs and the test fails, naming what is waited for; then it passes."""
    nowhere = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    release.apply(two_nodes(worker=nowhere))
    eventually("a running leader", lambda: "Running" in [pod["status"]["phase"] for pod in release.pods()])
    half = release.helm("test", release.name, "--logs", check=False)

    release.apply(two_nodes())
    eventually("a placed worker", lambda: all("nodeName" in pod["spec"] for pod in release.ready(2)))
    whole = release.helm("test", release.name, "--logs", check=False)

    assert half.returncode != 0
    assert "/ready says 503: assembling rank-missing 1 of 2 ranks are here, missing rank 1" in half.stdout
    assert "ok: 2 pods, 2 to a group" in whole.stdout
    assert 0 == whole.returncode
