"""The kind tier fits the chart: its image has the tags, its nodes the labels, and its values pass the checks.

Its scripts say what is wrong with the machine; Docker, kind and the others are scripts here, too.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest
import yaml
from ci.kind.client import Client, made_of, outage

from lockstep.cli import main
from tests.chart.rendering import CHART, ROOT, text

if TYPE_CHECKING:
    from pathlib import Path

KIND = ROOT / "ci" / "kind"
# What a machine needs for ci/kind/up, as far as it matters here: a cluster that is there, and works.
MACHINE = {
    "docker": "",
    "kind": 'case "$*" in *clusters*) echo lockstep ;; *nodes*) echo one ;; esac',
    "kubectl": 'case "$*" in *selector*) echo node/one ;; esac',
    "helm": "",
}


def test_the_image_has_the_version_that_the_chart_names() -> None:
    """Whoever raises the version in engines/vllm.yaml raises it here, or no pod finds its image."""
    named = yaml.safe_load((CHART / "files" / "engines" / "vllm.yaml").read_text(encoding="utf-8"))["version"]
    tags = re.search(r"^VERSIONS=\((.*?)\)", (KIND / "settings.sh").read_text(encoding="utf-8"), re.MULTILINE)

    assert tags is not None
    assert f"v{named}" in tags[1].split()


@pytest.mark.parametrize("addon", ["lws", "kueue"])
def test_a_controller_is_the_one_that_argo_cd_would_install(addon: str) -> None:
    """Its values come from there as well."""
    pinned = yaml.safe_load((ROOT / "argocd" / "addons" / addon / "addon.yaml").read_text(encoding="utf-8"))
    settings = (KIND / "settings.sh").read_text(encoding="utf-8")

    assert f"{addon.upper()}_CHART:-oci://{pinned['repository']}/{pinned['chart']}}}" in settings
    assert f"{addon.upper()}_VERSION-{pinned['version']}}}" in settings


def test_argo_cd_is_the_one_that_the_simulated_cluster_runs() -> None:
    """The suite is one."""
    modules = (ROOT / "ci" / "sim" / "tools" / "argocd" / "go.mod").read_text(encoding="utf-8")
    version = re.search(r"argoproj/argo-cd/v3 (v[\d.]+)", modules)

    assert version is not None
    assert f"argo-cd/{version[1]}/manifests/install.yaml" in (KIND / "settings.sh").read_text(encoding="utf-8")


def test_nodes_lie_in_the_racks_and_blocks_that_the_chart_means() -> None:
    """Three groups of two nodes fit, which the suite needs, each into a rack."""
    labels = yaml.safe_load((CHART / "files" / "owned.yaml").read_text(encoding="utf-8"))["topology"]
    cluster = yaml.safe_load((KIND / "cluster.yaml").read_text(encoding="utf-8"))
    racks = [node["labels"][labels["rack"]] for node in cluster["nodes"] if node["role"] == "worker"]

    assert ["rack-0"] * 2 + ["rack-1"] * 2 + ["rack-2"] * 2 == racks
    assert all(labels["block"] in node.get("labels", {}) for node in cluster["nodes"] if node["role"] == "worker")


def test_its_values_pass_the_checks() -> None:
    """They are an example as any other."""
    assert 0 == main(["check", str(KIND / "values.yaml")])


def test_the_client_is_made_from_the_pod_of_helm_test() -> None:
    """It has its image, its label and its security, waits to be asked, and is no hook."""
    hooks = text(KIND / "values.yaml", flags=("--show-only", "templates/tests/pod.yaml"))
    pod, tester = made_of(hooks), yaml.safe_load(hooks)
    container, its = pod["spec"]["containers"][0], tester["spec"]["containers"][0]

    assert "annotations" not in pod["metadata"]
    assert tester["metadata"]["labels"] == pod["metadata"]["labels"]
    assert ["sleep", "infinity"] == container["command"]
    for field in ("image", "env", "securityContext", "resources"):
        assert its[field] == container[field]


class Sick(BaseHTTPRequestHandler):
    """A group that answers, does not, and answers again."""

    codes: ClassVar = [200, 503, 503, 200]

    def do_POST(self) -> None:
        """Answer the next."""
        self.send_response(self.codes.pop(0) if self.codes else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_client_sees_a_short_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks from inside the pod without a pause, and says when answers ended and came again."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nshift 3\nexec "$@"\n')
    kubectl.chmod(0o755)
    server = HTTPServer(("127.0.0.1", 0), Sick)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("LOCKSTEP_TEST_API", f"http://127.0.0.1:{server.server_port}")

    with Client((str(kubectl),), ()).asking("m", seconds=10) as answers:
        first = next(answers)
        lost, back = outage(answers, time.monotonic())
    server.shutdown()
    server.server_close()

    assert first
    assert 0 < lost < back < 10
    assert [] == Sick.codes


@pytest.mark.parametrize(
    ("words", "answers"), [("never ended", [True]), ("never came again", [False])], ids=["well", "dead"]
)
def test_an_outage_that_is_none_or_has_no_end(words: str, answers: list[bool]) -> None:
    """The questions end, and it is said what was waited for."""
    with pytest.raises(TimeoutError, match=words):
        outage(iter(answers), time.monotonic())


def machine(folder: Path, **programs: str | None) -> dict[str, str]:
    """Make a machine with such programs, None for one that is not there, and give its environment."""
    for name in ("bash", "dirname", "mkdir", "grep", "rm", "sleep"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, body in {**MACHINE, **programs}.items():
        if body is not None:
            (folder / name).write_text(f"#!/bin/bash\necho {name} $* >>{folder}/called\n{body}\n")
            (folder / name).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


def run(script: str, folder: Path, **programs: str | None) -> subprocess.CompletedProcess[str]:
    """Run a script of the tier on such a machine."""
    command = ["bash", str(KIND / script)]
    return subprocess.run(
        command, env=machine(folder, **programs), capture_output=True, text=True, check=False, timeout=20
    )


GIVEN = [
    "kubectl patch node/one",
    "kind load docker-image",
    *(f"helm upgrade --install {it}" for it in ("lws", "kueue")),
]


def test_a_cluster_is_brought_up_to_date(tmp_path: Path) -> None:
    """With one that is there nothing is created: GPUs, images and controllers are given again."""
    done = run("up", tmp_path)
    called = (tmp_path / "called").read_text()

    assert 0 == done.returncode
    assert f"ready: export KUBECONFIG={tmp_path}/.cache/lockstep/kind/kubeconfig" in done.stderr
    assert "kind create" not in called
    assert "kubectl wait --for=condition=Ready --timeout=180s node/one" in called
    assert GIVEN == [words for words in GIVEN if words in called]


NO_CLUSTER = 'case "$*" in *create*) echo "port is taken" >&2; exit 1 ;; esac'


@pytest.mark.parametrize(
    ("words", "program", "body"),
    [
        pytest.param("no 'docker' on PATH: https://docs.docker.com", "docker", None, id="no Docker"),
        pytest.param("no 'kind' on PATH: https://kind.sigs.k8s.io", "kind", None, id="no kind"),
        pytest.param("no 'helm' on PATH: make setup", "helm", None, id="no helm"),
        pytest.param("Docker does not answer: no daemon", "docker", "echo no daemon >&2; exit 1", id="no daemon"),
        pytest.param("KIND_BASE_IMAGE", "docker", 'case "$1" in build) exit 1 ;; esac', id="no base image"),
        pytest.param("port is taken\nkind: kind made no cluster", "kind", NO_CLUSTER, id="port"),
        pytest.param("not whole", "kubectl", 'case "$1" in wait) exit 1 ;; esac', id="half a cluster"),
        pytest.param("no node of the cluster lockstep has the label", "kubectl", "", id="another cluster"),
        pytest.param(
            "did not get localhost/lockstep/standin:v0.32.0: none such",
            "kind",
            MACHINE["kind"] + '; case "$1" in load) echo none such >&2; exit 1 ;; esac',
            id="image",
        ),
        pytest.param("lws does not run", "helm", "exit 1", id="LeaderWorkerSet"),
        pytest.param("kueue does not run", "helm", 'case "$*" in *kueue*) exit 1 ;; esac', id="Kueue"),
    ],
)
def test_what_is_wrong_with_the_machine_is_said(words: str, program: str, body: str | None, tmp_path: Path) -> None:
    """The last line says it, below the program's own words, and nothing is done after it."""
    done = run("up", tmp_path, **{program: body})

    assert 1 == done.returncode
    assert words in done.stderr
    assert done.stderr.splitlines()[-1].startswith("kind: ")
    assert "ready:" not in done.stderr


LEFT = 'case "$*" in *"get app"*) echo application.argoproj.io/root ;; *"get names"*) echo namespace/serving-x ;; esac'
FORGOTTEN = (
    "delete deployments,statefulsets --all",
    "patch application.argoproj.io/root",
    "delete application.argoproj.io/root",
    "delete namespace/serving-x",
    "apply --server-side",
)


def test_argo_cd_is_installed_without_what_a_killed_run_left(tmp_path: Path) -> None:
    """Its controllers stop first, then its objects go, then the models."""
    done = run("argocd", tmp_path, sed="", kubectl=LEFT)
    called = (tmp_path / "called").read_text()
    order = [called.find(words) for words in FORGOTTEN]

    assert (0, "kind: Argo CD runs") == (done.returncode, done.stderr.splitlines()[-1])
    assert -1 not in order
    assert sorted(order) == order
    assert "delete deployment argocd-dex-server argocd-notifications-controller" in called


@pytest.mark.parametrize(
    ("words", "program", "body"),
    [
        pytest.param("there is no cluster lockstep: make kind", "kind", "", id="no cluster"),
        pytest.param("ARGOCD_MANIFEST names another file", "sed", "exit 1", id="no manifest"),
        pytest.param("Argo CD does not run", "kubectl", 'case "$*" in *status*) exit 1 ;; esac', id="not Ready"),
    ],
)
def test_what_keeps_argo_cd_away_is_said(words: str, program: str, body: str, tmp_path: Path) -> None:
    """The last line says it."""
    done = run("argocd", tmp_path, **{"sed": "", program: body})

    assert 1 == done.returncode
    assert words in done.stderr.splitlines()[-1]


def test_deleting_needs_docker_to_answer(tmp_path: Path) -> None:
    """A cluster that cannot be seen is not taken for one that is gone."""
    done = run("down", tmp_path, docker="echo no daemon >&2; exit 1")

    assert (1, "kind: Docker does not answer: no daemon\n") == (done.returncode, done.stderr)


def test_ctrl_c_says_what_removes_the_rest(tmp_path: Path) -> None:
    """The terminal tells every program of the target; what kind had begun stays."""
    environment = machine(tmp_path, kind='case "$1" in create) sleep 20 ;; esac')
    # A test run in a shell's background has Ctrl-C ignored, and a script could not change that.
    command = [shutil.which("env") or "env", "--default-signal=INT", "bash", str(KIND / "up")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True) as made:
        called, deadline = tmp_path / "called", time.monotonic() + 10
        while not called.exists() or "kind create" not in called.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(made.pid, signal.SIGINT)
        _, said = made.communicate(timeout=10)

    assert 130 == made.returncode
    assert said.endswith("kind: cut short; make kind-down removes what is there\n")
