"""Volumes become folders with kubelet's content, and mount paths are rewritten to them and to nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lockstep.errors import LockstepError
from lockstep.rehearse.volumes import Mounts, Volumes, write_projection

from .builders import container, group, lws, pod_template

LAUNCH = {
    "kind": "ConfigMap",
    "metadata": {"name": "launch"},
    "data": {"launch": "echo hi\n", "engine": "echo engine\n"},
}


def volumes(tmp_path: Path, *made: dict[str, object], notes: list[str] | None = None) -> Volumes:
    """Return the volumes of a leader that has these."""
    template = pod_template(container(), volumes=list(made))
    owner = group(*lws(leader=template), LAUNCH)
    return Volumes(
        owner.pod(0), owner, tmp_path / "v", tmp_path / "shared", (notes if notes is not None else []).append
    )


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param("/s/launch/launch.sh", "/lockstep/launch.sh", id="a file"),
        pytest.param("/s/launch", "/lockstep", id="the mount itself"),
        pytest.param("--config=/s/launch/x", "--config=/lockstep/x", id="behind a flag"),
        pytest.param('{"dir": "/s/tmp/a", "n": 1}', '{"dir": "/tmp/a", "n": 1}', id="in JSON"),
        pytest.param("/s/launch:/s/tmp", "/lockstep:/tmp", id="two in a list"),
        pytest.param("/s/deep/x", "/tmp/deep/x", id="the longest wins"),
        pytest.param("org/tmp", "org/tmp", id="a name with a slash stays"),
        pytest.param("/tmpfs /lockstep.d", "/tmpfs /lockstep.d", id="longer names stay"),
        pytest.param("~/tmp ./tmp", "~/tmp ./tmp", id="relative paths stay"),
        pytest.param("https://host/tmp", "https://host/tmp", id="a URL stays"),
    ],
)
def test_rewriting(expected: str, text: str) -> None:
    """One string."""
    places = {"/lockstep": Path("/s/launch"), "/tmp": Path("/s/tmp"), "/tmp/deep": Path("/s/deep")}

    assert expected == Mounts(places, Path("/s")).rewrite(text)


def test_an_argument_is_the_same_in_all_pods(tmp_path: Path) -> None:
    """It leads from where the container runs to the pod's own volume; what all pods see has one path anyway."""
    pods = [tmp_path / name for name in ("leader", "worker")]
    said = set()
    for pod in pods:
        (pod / "volumes" / "chat").mkdir(parents=True)
        (pod / "volumes" / "chat" / "a.jinja").write_text(pod.name)
        (pod / "1").mkdir()
        mounts = Mounts({"/chat": pod / "volumes" / "chat", "/models": Path("/models")}, pod)
        said.add(mounts.rewrite_argument("/chat/a.jinja /models/x"))
    template, _, model = said.pop().partition(" ")
    seen = [
        subprocess.run(["cat", template], cwd=pod / "1", capture_output=True, text=True, check=True) for pod in pods
    ]

    assert not said
    assert "/models/x" == model
    assert ["leader", "worker"] == [each.stdout for each in seen]


def test_config_map_with_items_and_modes(tmp_path: Path) -> None:
    """Keys land at their paths, with their modes, behind kubelet's link."""
    items = [{"key": "launch", "path": "launch.sh", "mode": 0o755}, {"key": "engine", "path": "engines/vllm.sh"}]
    volumes(tmp_path, {"name": "launch", "configMap": {"name": "launch", "defaultMode": 0o444, "items": items}})
    place = tmp_path / "v" / "launch"

    assert "echo engine\n" == (place / "engines" / "vllm.sh").read_text()
    assert (0o755, 0o444) == tuple((place / each).stat().st_mode & 0o777 for each in ("launch.sh", "engines/vllm.sh"))
    assert (place / "launch.sh").resolve().parent == (place / "..data").resolve()


def test_content_changes_behind_one_link(tmp_path: Path) -> None:
    """A changed ConfigMap appears as a whole: who resolved the old path finds it gone, as on a node."""
    write_projection(tmp_path, {"a": ("1", 0o644), "b/c": ("1", 0o644)})
    old = (tmp_path / "a").resolve()
    write_projection(tmp_path, {"a": ("2", 0o644), "b/c": ("2", 0o644)})

    assert ("2", "2", False) == ((tmp_path / "a").read_text(), (tmp_path / "b" / "c").read_text(), old.exists())


def test_what_is_not_here_is_noted(tmp_path: Path) -> None:
    """A claim, a missing host path and an unknown kind become empty folders, and say so."""
    notes: list[str] = []
    made = [
        {"name": "weights", "persistentVolumeClaim": {"claimName": "w"}},
        {"name": "host", "hostPath": {"path": "/no/such/folder"}},
        {"name": "odd", "csi": {"driver": "x"}},
    ]
    volumes(tmp_path, *made, notes=notes)

    places = [tmp_path / each for each in ("shared/claim/w", "shared/hostPath/no/such/folder", "v/odd")]

    assert ["weights", "host", "odd"] == [note.split(":")[0].split()[-1] for note in notes]
    assert [[]] * 3 == [[*place.iterdir()] for place in places]


def test_existing_host_path_is_itself(tmp_path: Path) -> None:
    """Weights on this machine are used where they are."""
    made = volumes(tmp_path, {"name": "models", "hostPath": {"path": str(tmp_path)}})
    mounts = made.mounts({"volumeMounts": [{"name": "models", "mountPath": "/models"}]})

    assert {"/models": tmp_path} == mounts.places


@pytest.mark.parametrize(
    ("message", "volume"),
    [
        ("ConfigMap other was not rendered", {"configMap": {"name": "other"}}),
        (
            "ConfigMap launch has no key nope",
            {"configMap": {"name": "launch", "items": [{"key": "nope", "path": "x"}]}},
        ),
    ],
    ids=["no such map", "no such key"],
)
def test_what_would_never_start_is_refused(tmp_path: Path, message: str, volume: dict[str, object]) -> None:
    """A pod with such a volume hangs in ContainerCreating on a cluster; here it is one message."""
    with pytest.raises(LockstepError, match=message):
        volumes(tmp_path, {"name": "launch", **volume})


def test_mount_of_a_missing_volume_is_refused(tmp_path: Path) -> None:
    """The API server would refuse it."""
    with pytest.raises(LockstepError, match="mounts a volume gone that the pod does not have"):
        volumes(tmp_path).mounts({"volumeMounts": [{"name": "gone", "mountPath": "/x"}]})
