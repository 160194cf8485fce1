"""Small rendered objects and quick plans for the tests of the rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.rehearse.manifest import Group, find_group
from lockstep.rehearse.plan import Plan

if TYPE_CHECKING:
    from lockstep.rehearse.pod import Pod

Node = dict[str, Any]

CONTRACT = [{"name": "LOCKSTEP_ENGINE", "value": "vllm"}, {"name": "LOCKSTEP_SERVED_NAME", "value": "tiny"}]
ADDRESSES = [
    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {"name": "RANK", "value": "$(LWS_WORKER_INDEX)"},
    {"name": "LEADER", "value": "$(LWS_LEADER_ADDRESS)"},
]
QUICK = {"periodSeconds": 1, "timeoutSeconds": 1}

# The engine itself as a container's command, without the launch scripts: rank and leader come from the stack.
ENGINE = """
leader=$(getent hosts "$LEADER" | awk '{print $1; exit}')
role=(--headless)
if [[ $RANK == 0 ]]; then role=(--host "$POD_IP" --port 8000); fi
exec vllm serve tiny -tp 1 -pp "${NODES:-2}" --nnodes "${NODES:-2}" --node-rank "$RANK" \\
  --master-addr "${leader:-$LEADER}" "${role[@]}"
"""


def container(**changes: object) -> Node:
    """Return an engine container; a change with the value None takes a field away."""
    fields: Node = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.32.0",
        "command": ["bash", "-c", ENGINE],
        "env": CONTRACT + ADDRESSES,
        "ports": [{"name": "http", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, **QUICK},
    } | changes
    return {name: value for name, value in fields.items() if value is not None}


def pod_template(*containers: Node, **spec: object) -> Node:
    """Return a pod template with the label that the Service of ``lws`` selects."""
    return {
        "metadata": {"labels": {"lockstep/release": "model"}},
        "spec": {"terminationGracePeriodSeconds": 4, "containers": list(containers or [container()]), **spec},
    }


def worker() -> Node:
    """Return a worker's container: it is Ready as soon as it runs."""
    return container(readinessProbe=None)


def service() -> Node:
    """Return the Service for clients, with the leader behind it."""
    return {
        "kind": "Service",
        "metadata": {"name": "model-api"},
        "spec": {"selector": {"lockstep/role": "leader"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }


def lws(
    size: int = 2, policy: str = "RecreateGroupOnPodRestart", leader: Node | None = None, workers: Node | None = None
) -> list[Node]:
    """Return a LeaderWorkerSet and its Service."""
    first = pod_template() if leader is None else leader
    first["metadata"]["labels"]["lockstep/role"] = "leader"
    template = {
        "size": size,
        "restartPolicy": policy,
        "leaderTemplate": first,
        "workerTemplate": pod_template(worker()) if workers is None else workers,
    }
    owner = {"kind": "LeaderWorkerSet", "metadata": {"name": "model"}, "spec": {"leaderWorkerTemplate": template}}
    return [owner, service()]


def statefulset(*services: Node, size: int = 2) -> list[Node]:
    """Return a StatefulSet that is one group, the headless Service of its names (or others), and that of clients."""
    spec = {"replicas": size, "serviceName": "peers", "template": pod_template(container(env=[*CONTRACT]))}
    return [
        {"kind": "StatefulSet", "metadata": {"name": "model-0-abc"}, "spec": spec},
        *(services or [peers()]),
        service() | {"spec": {"selector": {"apps.kubernetes.io/pod-index": "0"}, "ports": [{"targetPort": "http"}]}},
    ]


def peers(**changes: object) -> Node:
    """Return the headless Service of a StatefulSet."""
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"lockstep/release": "model"}} | changes
    return {"kind": "Service", "metadata": {"name": "peers"}, "spec": spec}


def podcliqueset(workers: int = 1) -> list[Node]:
    """Return a PodCliqueSet with a clique for the leader and one for the workers, and the Service of clients."""
    cliques = [
        {
            "name": role,
            "labels": {"lockstep/role": role, "app.kubernetes.io/name": "model"},
            "spec": {"replicas": count, "podSpec": {"containers": [container(env=[*CONTRACT])]}},
        }
        for role, count in (("worker", workers), ("leader", 1))
    ]
    scaling = [{"name": "g", "cliqueNames": ["leader", "worker"], "replicas": 1}]
    template = {"cliques": cliques, "podCliqueScalingGroups": scaling}
    return [{"kind": "PodCliqueSet", "metadata": {"name": "model-n2"}, "spec": {"template": template}}, service()]


def deployment(template: Node | None = None) -> list[Node]:
    """Return a Deployment of one pod and its Service."""
    body = pod_template(
        container(env=[*CONTRACT, ADDRESSES[0], {"name": "RANK", "value": "0"}, {"name": "NODES", "value": "1"}])
    )
    body = template or body
    body["metadata"]["labels"]["lockstep/role"] = "leader"
    owner = {"kind": "Deployment", "metadata": {"name": "model"}, "spec": {"template": body}}
    return [owner, service()]


def group(*objects: Node) -> Group:
    """Return the group of rendered objects."""
    return find_group(list(objects) or lws(), "default")


def pod(rank: int = 0, *objects: Node) -> Pod:
    """Return one pod of it."""
    return group(*objects).pod(rank)


def plan(objects: list[Node], **changes: Any) -> Plan:
    """Return a plan that shows nothing."""
    return Plan(
        **({"objects": objects, "namespace": "default", "prompt": "hello", "quiet": True, "timeout": 20.0} | changes)
    )
