"""``helm test``: its pod disturbs nothing, gives nothing away, and tells a whole group from half of one."""

from __future__ import annotations

import importlib.util
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from .rendering import CHART, FIVE_LINES, ONE_NODE, Object, render, values

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = CHART / "files" / "test" / "ask.py"
KEY = {"valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}}


def script() -> Any:
    """Import the script from where the chart keeps it."""
    spec = importlib.util.spec_from_file_location("ask", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(*changes: Object) -> dict[str, Any]:
    """Give the variables of the pod: text, or the source where they have one."""
    container = render(values(*changes))["Pod"]["spec"]["containers"][0]
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in container["env"]}


def test_only_helm_test_makes_the_pod() -> None:
    """Argo CD ignores a hook that it has no phase for; Helm makes it anew each time it is asked."""
    assert {
        "helm.sh/hook": "test",
        "helm.sh/hook-delete-policy": "before-hook-creation",
    } == render(FIVE_LINES)["Pod"]["metadata"]["annotations"]


@pytest.mark.parametrize("changes", [{}, ONE_NODE, {"stack": {"name": "kueue"}}], ids=["lws", "deployment", "kueue"])
def test_no_selector_of_the_release_finds_the_pod(changes: Object) -> None:
    """It is no endpoint, counts in no budget, and may not reach the engines' own ports."""
    rendered = render(values(changes))
    labels = rendered["Pod"]["metadata"]["labels"]
    selectors = [
        rendered["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        rendered["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *(item["spec"]["selector"] for item in rendered.objects if item["kind"] == "Service"),
    ]

    assert [] == [selector for selector in selectors if selector.items() <= labels.items()]


def test_the_pod_may_do_nothing_and_waits_for_no_gpu() -> None:
    """Pod Security level restricted, no API token, no device, and the taint of the nodes that have the image."""
    spec = render(values({"network": {"rdma": {"resource": "rdma/hca", "count": 1}}}))["Pod"]["spec"]
    (container,) = spec["containers"]

    assert spec["securityContext"]["runAsNonRoot"]
    assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
    assert {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    } == container["securityContext"]
    assert not spec["automountServiceAccountToken"]
    assert {"cpu", "memory"} == set(container["resources"]["limits"])
    assert "nvidia.com/gpu" in {toleration["key"] for toleration in spec["tolerations"]}


def test_the_pod_has_the_image_of_the_engine_and_the_script_as_it_lies() -> None:
    """Nothing else is pulled, and nothing of the script is expanded."""
    rendered = render(values({"pod": {"imagePullSecrets": [{"name": "pull"}]}}))
    spec = rendered["Pod"]["spec"]
    (container,) = spec["containers"]

    assert rendered.engine()["image"] == container["image"]
    assert [{"name": "pull"}] == spec["imagePullSecrets"]
    assert SCRIPT.read_text(encoding="utf-8") == container["args"][0].replace("$$", "$")


@pytest.mark.parametrize(
    ("expected", "env"),
    [
        pytest.param({"secretKeyRef": {"name": "keys", "key": "api"}}, KEY, id="secret"),
        pytest.param("plain", "plain", id="text"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_key_is_told_as_the_engine_is_told_it(expected: Any, env: Any) -> None:
    """From the same Secret, in a variable; never in the arguments."""
    assert expected == told({"engine": {"env": {"VLLM_API_KEY": env}}}).get("LOCKSTEP_TEST_KEY")


@pytest.mark.parametrize(
    ("expected", "changes"),
    [
        pytest.param(("r1", "2", "7070"), {}, id="lws"),
        pytest.param(("r1-peers", "2", "7070"), {"stack": {"name": "kueue"}}, id="kueue"),
        pytest.param(("r1-n2-0 r1-n2-1", "2", "7070"), {"stack": {"name": "grove"}, "replicas": 2}, id="grove"),
        pytest.param((None, None, None), ONE_NODE, id="deployment"),
        pytest.param((None, None, None), {"supervisor": {"enabled": False}}, id="no-supervisor"),
    ],
)
def test_every_rank_is_found_by_the_headless_service_of_its_stack(
    expected: tuple[str | None, ...], changes: Object
) -> None:
    """A group of one pod has no others to ask."""
    env = told(changes)

    assert expected == tuple(env.get(f"LOCKSTEP_TEST_{name}") for name in ("PEERS", "NODES", "STATUS_PORT"))


class Group(BaseHTTPRequestHandler):
    """The API and one supervisor, on one port; the class's attributes say how they answer."""

    models = ("r1",)
    tokens = 8
    key = ""
    ready = (200, "serving")
    body = ""

    def do_GET(self) -> None:
        """Answer models and ready."""
        listed = json.dumps({"data": [{"id": name} for name in self.models]})
        self.say(*(self.ready if self.path == "/ready" else (200, self.body or listed)))

    def do_POST(self) -> None:
        """Answer a completion."""
        self.rfile.read(int(self.headers["Content-Length"]))
        refused = self.key and self.headers["Authorization"] != f"Bearer {self.key}"
        made = {"choices": [{"text": "text"}] * bool(self.tokens), "usage": {"completion_tokens": self.tokens}}
        self.say(*((401, "Unauthorized") if refused else (200, json.dumps(made))))

    def say(self, code: int, text: str) -> None:
        """Send an answer."""
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(**how: object) -> Iterator[str]:
    """Serve a group that answers so; give its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Sick", (Group,), how))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield str(server.server_port)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("expected", "how", "given"),
    [
        pytest.param("", {}, {}, id="whole"),
        pytest.param("", {"key": "k"}, {"KEY": "k"}, id="key"),
        pytest.param("says 401: Unauthorized", {"key": "k"}, {}, id="no-key"),
        pytest.param("lists other, but not r1", {"models": ("other",)}, {}, id="other-model"),
        pytest.param("gave no token", {"tokens": 0}, {}, id="no-token"),
        pytest.param("does not answer like OpenAI's API: JSONDecodeError", {"body": "<html>"}, {}, id="a-gateway"),
        pytest.param("says 503: assembling rank-missing", {"ready": (503, "assembling rank-missing")}, {}, id="rank"),
        pytest.param("1 pods, 2 to a group", {}, {"NODES": "2"}, id="half-a-group"),
        pytest.param("no pod has the name r1.invalid", {}, {"PEERS": "127.0.0.1 r1.invalid"}, id="no-name"),
        pytest.param("does not answer: [Errno 111]", {}, {"API": "http://127.0.0.1:1"}, id="nothing-listens"),
    ],
)
def test_each_fault_is_told(expected: str, how: dict[str, Any], given: dict[str, str]) -> None:
    """And a whole group has none."""
    with serving(**how) as port:
        told = {"API": f"http://127.0.0.1:{port}", "MODEL": "r1", "PEERS": "127.0.0.1", "NODES": "1"}
        asked = {**told, "STATUS_PORT": port, **given}
        said = list(script().answers({f"LOCKSTEP_TEST_{name}": text for name, text in asked.items()}))
    wrong = "\n".join(text for right, text in said if not right)

    assert expected in wrong
    assert bool(expected) == bool(wrong)
