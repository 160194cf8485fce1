"""The pod: devices, memory, files, rights, probes and times are right for leader and worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .rendering import CHART, FIVE_LINES, ONE_NODE, ROLES, ROOT, Object, ranks_of, refusal, render, values

if TYPE_CHECKING:
    from pathlib import Path

# How many pods one group of a kind has.
SIZES = {
    "Deployment": lambda spec: 1,  # noqa: ARG005
    "LeaderWorkerSet": lambda spec: spec["leaderWorkerTemplate"]["size"],
    "PodCliqueSet": lambda spec: sum(clique["spec"]["replicas"] for clique in spec["template"]["cliques"]),
    "StatefulSet": lambda spec: spec["replicas"],
}
EXAMPLES = [*sorted((CHART / "ci").glob("*.yaml")), *sorted((ROOT / "values" / "examples").glob("*.yaml"))]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_gpus_of_the_pods_are_the_gpus_of_the_layout(file: Path) -> None:
    """Requests equal limits on every pod, and size x GPUs is the product of the factors."""
    rendered = render(file)
    ranks = ranks_of(rendered)
    (nodes,) = {SIZES[item["kind"]](item["spec"]) for item in rendered.objects if item["kind"] in SIZES}
    for role in rendered.templates():
        resources = rendered.engine(role)["resources"]
        (device,) = (name for name in resources["limits"] if name.endswith(("/gpu", "/gaudi")))

        assert ranks == nodes * int(resources["limits"][device])
        assert resources["limits"][device] == resources["requests"][device]


def test_resources_of_a_role_lie_on_the_common_ones() -> None:
    """Entry by entry; quantities are text, so that the API server has nothing to rewrite."""
    rendered = render(
        values(
            {
                "resources": {"requests": {"cpu": 64, "memory": "512Gi"}},
                "leader": {"resources": {"requests": {"cpu": 96}}},
            }
        )
    )

    assert {"cpu": "96", "memory": "512Gi", "nvidia.com/gpu": "8"} == rendered.engine()["resources"]["requests"]
    assert {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"} == rendered.engine("worker")["resources"]["requests"]


def test_rdma_is_requested_and_may_pin_memory() -> None:
    """Leader and worker alike: a device on one side only is no RDMA."""
    rendered = render(values({"network": {"rdma": {"resource": "rdma/hca", "count": 2}}}))
    for role in ROLES:
        engine = rendered.engine(role)

        assert "2" == engine["resources"]["limits"]["rdma/hca"] == engine["resources"]["requests"]["rdma/hca"]
        assert {"add": ["IPC_LOCK"], "drop": ["ALL"]} == engine["securityContext"]["capabilities"]


@pytest.mark.parametrize("role", ROLES)
def test_everything_that_is_written_has_a_volume(role: str) -> None:
    """The root file system is read-only; caches and home are variables that point into volumes."""
    rendered = render(FIVE_LINES)
    mounts = {mount["mountPath"]: mount for mount in rendered.engine(role)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in rendered.pod(role)["volumes"]}

    assert rendered.engine(role)["securityContext"]["readOnlyRootFilesystem"]
    assert {"/tmp", "/home/lockstep", "/cache", "/dev/shm", "/lockstep"} == set(mounts)
    assert {"medium": "Memory", "sizeLimit": "16Gi"} == volumes["shm"]["emptyDir"]
    assert mounts["/lockstep"]["readOnly"]
    for name in ("HF_HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        assert rendered.env(role)[name].startswith(("/cache", "/home/lockstep"))
    assert {"USER", "LOGNAME"} <= set(rendered.env(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_defaults_fit_the_restricted_level(role: str) -> None:
    """Field by field what the Pod Security Standards ask of `restricted`."""
    pod = render(FIVE_LINES).pod(role)
    engine = render(FIVE_LINES).engine(role)["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert {"type": "RuntimeDefault"} == pod["securityContext"]["seccompProfile"]
    assert {"drop": ["ALL"]} == engine["capabilities"]
    assert engine["allowPrivilegeEscalation"] is False
    assert pod["automountServiceAccountToken"] is False
    assert not any("hostPath" in volume for volume in pod["volumes"])
    assert "hostNetwork" not in pod


def test_a_default_of_the_security_context_can_be_removed() -> None:
    """OpenShift chooses the user itself."""
    pod = render(values({"security": {"pod": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}}})).pod()

    assert {"runAsNonRoot", "seccompProfile", "fsGroupChangePolicy"} == set(pod["securityContext"])


def test_a_volume_of_the_chart_can_be_replaced() -> None:
    """A cache on the node's disk survives the pod; the mount stays."""
    rendered = render(values({"pod": {"volumes": {"cache": {"hostPath": {"path": "/mnt/cache"}}}}}))
    (cache,) = (volume for volume in rendered.pod("worker")["volumes"] if volume["name"] == "cache")

    assert {"name": "cache", "hostPath": {"path": "/mnt/cache"}} == cache


def test_the_taint_of_the_accelerator_is_tolerated() -> None:
    """Kueue looks for it in the pod template; a user's own come after it."""
    own = {"key": "reserved", "operator": "Exists"}
    pod = render(values({"group": {"resourceName": "amd.com/gpu"}, "pod": {"tolerations": {"mine": own}}})).pod(
        "worker"
    )

    assert [{"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, own] == pod["tolerations"]


def test_a_role_adds_to_the_settings_of_all_pods() -> None:
    """An entry of a role replaces the one of the same name, and null removes it for that role."""
    rendered = render(
        values(
            {
                "pod": {"nodeSelector": {"a": "1", "b": "1"}, "priorityClassName": "low"},
                "leader": {"nodeSelector": {"b": "2"}, "priorityClassName": "high"},
                "worker": {"nodeSelector": {"a": None}},
            }
        )
    )

    assert ({"a": "1", "b": "2"}, "high") == (
        rendered.pod()["nodeSelector"],
        rendered.pod()["priorityClassName"],
    )
    assert ({"b": "1"}, "low") == (rendered.pod("worker")["nodeSelector"], rendered.pod("worker")["priorityClassName"])


def probes(changes: Object, role: str) -> Object:
    """Return the three probes of a role."""
    engine = render(values(changes)).engine(role)
    return {kind: engine[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")}


@pytest.mark.parametrize("role", ROLES)
def test_the_supervisor_answers_the_probes_of_every_rank(role: str) -> None:
    """On its own port: a worker's engine serves no HTTP."""
    assert {
        "startup": {"path": "/startup", "port": "status"},
        "readiness": {"path": "/ready", "port": "status"},
        "liveness": {"path": "/live", "port": "status"},
    } == {kind: probe["httpGet"] for kind, probe in probes({}, role).items()}


def test_without_a_supervisor_only_the_leader_is_asked_by_http() -> None:
    """A worker's life is whether its leader can be reached."""
    off = {"supervisor": {"enabled": False}}
    alive = {"command": ["bash", "/lockstep/launch.sh", "alive"]}

    for probe in probes(off, "leader").values():
        assert {"path": "/health", "port": "http"} == probe["httpGet"]
    for probe in probes(off, "worker").values():
        assert alive == probe["exec"]
        assert "httpGet" not in probe


@pytest.mark.parametrize(
    ("expected", "seconds", "period"), [(600, 5400, 10), (260, 7200, 30), (261, 7201, 30), (66, 60, 10)]
)
def test_the_startup_budget_is_ten_minutes_more_than_the_start(expected: int, seconds: int, period: int) -> None:
    """Rounded up: the supervisor gives up first, and says why."""
    changes = {"startup": {"seconds": seconds}, "pod": {"probes": {"startup": {"periodSeconds": period}}}}
    probe = probes(changes, "worker")["startup"]

    assert expected == probe["failureThreshold"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= seconds + 600


def test_a_handler_of_the_user_replaces_the_handler_of_the_chart() -> None:
    """With its times kept; two handlers would be refused by the API server."""
    probe = probes({"leader": {"probes": {"readiness": {"tcpSocket": {"port": 1}, "failureThreshold": 9}}}}, "leader")

    assert {"tcpSocket": {"port": 1}, "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 9} == probe[
        "readiness"
    ]


def test_a_lost_group_leaves_the_service_within_seconds() -> None:
    """The supervisor answers from what it knows; an engine that is asked itself gets more time."""
    on = probes({}, "leader")["readiness"]
    off = probes({"supervisor": {"enabled": False}}, "leader")["readiness"]

    assert 4 == on["periodSeconds"] * on["failureThreshold"]
    assert 15 == off["periodSeconds"] * off["failureThreshold"]


def test_no_probe_has_an_initial_delay() -> None:
    """The startup probe holds the others back."""
    for role in ROLES:
        for kind, probe in probes({}, role).items():
            assert "initialDelaySeconds" not in probe
            assert probe["failureThreshold"] > 1, kind


def test_all_ranks_have_the_same_time_to_end() -> None:
    """Propagation, drain and 30 s for the engine's own end."""
    rendered = render(values({"drain": {"seconds": 300, "propagationSeconds": 0}}))

    assert {330} == {rendered.pod(role)["terminationGracePeriodSeconds"] for role in ROLES}


def test_without_a_supervisor_the_leader_waits_for_load_balancers() -> None:
    """Nobody else delays TERM then."""
    rendered = render(values({"supervisor": {"enabled": False}}))

    assert ["sleep", "10"] == rendered.engine()["lifecycle"]["preStop"]["exec"]["command"]
    assert "outlast" == rendered.engine("worker")["lifecycle"]["preStop"]["exec"]["command"][-1]
    assert "lifecycle" not in render(FIVE_LINES).engine()


SHM = [("16Gi", True), ("17179869184", True), ("1.7e10", True), ("17G", True), ("17180M", False), ("0.5Ti", False)]


@pytest.mark.parametrize(("limit", "refused"), SHM, ids=[limit for limit, _ in SHM])
def test_shared_memory_lies_inside_the_memory_limit(limit: str, refused: bool) -> None:
    """Quantities are compared as numbers, whatever their unit; the default is 16Gi."""
    changes = values({"resources": {"limits": {"memory": limit}}})
    if refused:
        assert "OPS002 sharedMemory.size is 16Gi, but resources.limits.memory is " in refusal(changes)
    else:
        render(changes)


@pytest.mark.parametrize(
    ("model", "mounted", "changes"),
    [
        pytest.param("deepseek-ai/DeepSeek-R1", None, {}, id="hub"),
        pytest.param("/models/r1", "pvc", {"source": "pvc", "claim": "models", "path": "/r1/"}, id="claim"),
        pytest.param("/models", "pvc", {"source": "pvc", "claim": "models"}, id="claim-root"),
        pytest.param("/models", "host", {"source": "hostPath", "path": "/mnt/r1"}, id="host"),
    ],
)
def test_weights(model: str, mounted: str | None, changes: Object) -> None:
    """The engine is told a path that is the same on every node, and stays off the network then."""
    rendered = render(values({"weights": changes}))
    source = {
        "pvc": {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
        "host": {"hostPath": {"path": "/mnt/r1", "type": "Directory"}},
    }
    for role in ROLES:
        found = [volume for volume in rendered.pod(role)["volumes"] if volume["name"] == "models"]

        assert model == rendered.env(role)["LOCKSTEP_MODEL"]
        assert "deepseek-ai/DeepSeek-R1" == rendered.env(role)["LOCKSTEP_SERVED_NAME"]
        assert [{"name": "models", **source[mounted]}] if mounted else [] == found
        assert ("1" if mounted else None) == rendered.env(role).get("HF_HUB_OFFLINE")


@pytest.mark.parametrize(
    ("expected", "secret"),
    [
        pytest.param({"name": "hf", "key": "token"}, {"name": "hf"}, id="default-key"),
        pytest.param(
            {"name": "hf", "key": "t", "optional": True}, {"name": "hf", "key": "t", "optional": True}, id="all"
        ),
    ],
)
def test_a_token_comes_from_an_existing_secret(expected: Object, secret: Object) -> None:
    """On every pod, and no Secret is made."""
    rendered = render(values({"weights": {"tokenSecret": secret}}))

    assert [{"secretKeyRef": expected}] * 2 == [rendered.env(role)["HF_TOKEN"] for role in ROLES]
    assert "Secret" not in {kind for kind, _ in rendered.names()}
    assert "HF_TOKEN" not in render(FIVE_LINES).env()


@pytest.mark.parametrize(
    ("expected", "weights"),
    [
        pytest.param("weights.claim is not set", {"source": "pvc"}, id="no-claim"),
        pytest.param("weights.path is not set", {"source": "hostPath"}, id="no-path"),
        pytest.param("weights.claim is set, but has no meaning", {"claim": "models"}, id="claim-of-the-hub"),
        pytest.param("on a node it must be absolute", {"source": "hostPath", "path": "models"}, id="relative"),
    ],
)
def test_a_source_of_weights_that_is_half_said(expected: str, weights: Object) -> None:
    """Each gap has its own message."""
    message = refusal(values({"weights": weights}))

    assert "OPS005" in message
    assert expected in message


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        pytest.param(
            "OPS003 pod.volumeMounts./dev/shm", {"pod": {"volumeMounts": {"/dev/shm": {"name": "a"}}}}, id="path"
        ),
        pytest.param("OPS003 worker.volumes.launch", {"worker": {"volumes": {"launch": {"emptyDir": {}}}}}, id="name"),
        pytest.param(
            "OPS004 worker.probes.liveness asks the engine's port http",
            {"worker": {"probes": {"liveness": {"httpGet": {"path": "/health", "port": "http"}}}}},
            id="worker-http",
        ),
        pytest.param(
            "OPS004 pod.probes.liveness asks the engine's port 8000",
            {"pod": {"probes": {"liveness": {"httpGet": {"path": "/health", "port": 8000}}}}},
            id="all-pods-http",
        ),
        pytest.param(
            "OPS004 leader.probes.startup has 2 handlers (exec, grpc)",
            {"leader": {"probes": {"startup": {"exec": {"command": ["a"]}, "grpc": {"port": 1}}}}},
            id="two-handlers",
        ),
    ],
)
def test_what_would_break_a_pod_is_refused(code: str, changes: Object) -> None:
    """The message begins with the code and the path."""
    assert code in refusal(values(changes))


def test_one_pod_may_be_asked_by_http() -> None:
    """Where there are no workers, pod.probes mean the leader."""
    get = {"httpGet": {"path": "/health", "port": "http"}}

    assert get.items() <= probes({**ONE_NODE, "pod": {"probes": {"liveness": get}}}, "leader")["liveness"].items()
