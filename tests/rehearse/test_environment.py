"""A container's environment and command are made as kubelet makes them."""

from __future__ import annotations

import base64

import pytest

from lockstep.errors import LockstepError
from lockstep.rehearse.environment import command_line, container_environment

from .builders import CONTRACT, container, group, lws, pod_template

CONFIG = {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"A": "from map", "B": "b"}}
SECRET = {"kind": "Secret", "metadata": {"name": "token"}, "data": {"key": base64.b64encode(b"s3cret").decode()}}


def resolve(*entries: dict[str, object], **fields: object) -> dict[str, str]:
    """Return the environment of rank 1 with these entries after the contract's."""
    template = pod_template(container(env=[*CONTRACT, *entries], **fields))
    made = group(*lws(workers=template), CONFIG, SECRET)
    pod = made.pod(1)
    return container_environment(pod, pod.container(), made, "10.0.0.7")


def test_a_reference_sees_only_what_stands_before_it() -> None:
    """Order decides, as for kubelet."""
    found = resolve(
        {"name": "EARLY", "value": "$(LATE)"},
        {"name": "LATE", "value": "$(LWS_WORKER_INDEX)"},
        {"name": "NEXT", "value": "$(LATE)"},
    )

    assert ("$(LATE)", "1", "1") == (found["EARLY"], found["LATE"], found["NEXT"])


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        ("10.0.0.7", "status.podIP"),
        ("model-0-1", "metadata.name"),
        ("default", "metadata.namespace"),
        ("0", "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"),
        ("2", "metadata.annotations['leaderworkerset.sigs.k8s.io/size']"),
    ],
    ids=lambda value: value,
)
def test_field_references(expected: str, path: str) -> None:
    """The fields that the contract and its users ask for."""
    found = resolve({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}})

    assert expected == found["X"]


def test_unknown_field_is_refused() -> None:
    """A typo in a path stops the rehearsal, as it stops the pod."""
    with pytest.raises(LockstepError, match=r"env X: kubelet knows no field status\.podIp"):
        resolve({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "status.podIp"}}})


def test_rendered_config_maps_and_secrets_are_read() -> None:
    """Values come from the objects that were rendered."""
    found = resolve(
        {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "B"}}},
        {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}},
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "settings"}}],
    )

    assert ("b", "s3cret", "from map") == (found["X"], found["Y"], found["P_A"])


def test_secret_of_the_cluster_is_made_up() -> None:
    """It is not here; every rank gets the same made-up value."""
    found = resolve({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}})

    assert "rehearsal-hf-token" == found["HF_TOKEN"]


def test_optional_secret_is_left_out() -> None:
    """An optional reference to nothing sets nothing."""
    found = resolve({"name": "X", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token", "optional": True}}})

    assert "X" not in found


def test_missing_key_is_refused() -> None:
    """A rendered object without the key would keep the pod from starting."""
    with pytest.raises(
        LockstepError, match="Secret token has no key other: the pod would stay in CreateContainerConfigError"
    ):
        resolve({"name": "X", "valueFrom": {"secretKeyRef": {"name": "token", "key": "other"}}})


def test_command_line_expands_with_the_whole_environment() -> None:
    """Words see every variable; a doubled dollar reaches the program single."""
    words = command_line(
        {"name": "c", "command": ["run"], "args": ["--rank=$(RANK)", "$$(RANK)", "$(NO)"]}, {"RANK": "3"}
    )

    assert ["run", "--rank=3", "$(RANK)", "$(NO)"] == words


def test_container_without_command_is_refused() -> None:
    """The command of an image is not known here."""
    with pytest.raises(LockstepError, match="has no command"):
        command_line({"name": "c", "args": ["x"]}, {})
