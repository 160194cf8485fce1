"""A cluster with real pods is reached with kubectl alone: its API server, Argo CD behind it, and a Git server."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ci.gitops import real
from ci.gitops.argocd import OURS
from ci.gitops.real import HubError, Real, transport
from ci.gitops.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

# An API server on the socket of its proxy, and a pod that is this machine.
KUBECTL = (
    f"#!{sys.executable}\n"
    + r"""
import json, os, sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

here, words = Path(__file__).parent, sys.argv[5:]


class Server(BaseHTTPRequestHandler):
    def address_string(self):
        return ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        answers = json.loads((here / "answers").read_text())
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        asked = " ".join(filter(None, [self.command, self.path, self.headers.get("Cookie"), given]))
        body = json.dumps(answers.get(asked)).encode()
        self.send_response(200 if asked in answers else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


if words[0] == "proxy":
    server = UnixStreamServer(words[1].partition("=")[2], Server)
    print("Starting to serve", flush=True)
    server.serve_forever()
elif words[0] == "exec":
    inside = [word.replace("/git", str(here / "git")) for word in words[words.index("--") + 1 :]]
    os.execvp(inside[0], inside)
elif words[0] == "get":
    print("argocd:v1")
elif words[0] == "rollout" and (here / "sick").exists():
    sys.exit("error: timed out waiting for the condition")
"""
)
LOGIN = json.dumps({"username": "admin", "password": "first"})
PROJECT = f"GET {real.SERVER}/api/v1/projects/default argocd.token=t"
SETS = f"GET {OURS}/applicationsets"
EMPTY: dict[str, Any] = {
    f"GET {OURS}/applications": {"items": []},
    SETS: {"items": []},
    f"GET {OURS}/appprojects": {"items": [{"metadata": {"name": "default"}}]},
    f"GET {real.CLUSTERS}": {"items": []},
    f"GET {real.CORE}/secrets/argocd-initial-admin-secret": {"data": {"password": base64.b64encode(b"first").decode()}},
    f"POST {real.SERVER}/api/v1/session {LOGIN}": {"token": "t"},
    PROJECT: {"metadata": {"name": "default"}},
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a machine whose kubectl leads to such a cluster; its path has a space."""
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "git").mkdir()
    (folder / "answers").write_text(json.dumps(EMPTY))
    (folder / "kubectl").write_text(KUBECTL)
    (folder / "kubectl").chmod(0o755)
    monkeypatch.setattr(real, "program", lambda name: folder / name)
    return folder


@pytest.fixture
def hub(machine: Path) -> Iterator[Real]:
    """Reach it; the name of its kubeconfig has a per cent sign."""
    assert machine
    with closing(Real(Path("100%.yaml"))) as hub:
        yield hub


def test_an_argo_cd_with_nothing_in_it_will_do(hub: Real) -> None:
    """The password of its installation buys a token, which goes as a cookie."""
    assert "" == hub.unfit()


@pytest.mark.parametrize(
    ("said", "asked", "answer"),
    [
        pytest.param("in use (fleet)", SETS, {"items": [{"metadata": {"name": "fleet"}}]}, id="of somebody"),
        pytest.param("has no Argo CD in the namespace argocd", SETS, None, id="none"),
        pytest.param("not as its installation left it", PROJECT, None, id="another password"),
    ],
)
def test_another_is_left_alone(hub: Real, machine: Path, said: str, asked: str, answer: object) -> None:
    """What the suite makes and removes could be somebody's."""
    answers = {key: value for key, value in {**EMPTY, asked: answer}.items() if value is not None}
    (machine / "answers").write_text(json.dumps(answers))

    assert said in hub.unfit()


def test_a_proxy_that_ends_is_said(machine: Path) -> None:
    """In a line, whatever kubectl lacks."""
    (machine / "kubectl").write_text("#!/bin/sh\nexit 1\n")
    with closing(Real(Path("config"))) as hub:
        said = hub.unfit()

    assert said.startswith("Argo CD does not answer: ")


def test_a_push_goes_through_kubectl(hub: Real, machine: Path, tmp_path: Path) -> None:
    """Into a repository of its own, also where a run that was killed has left one."""
    for number in range(2):
        repository = Repository(hub, "platform", tmp_path / f"clone-{number}")
        repository.write("file", f"text {number}")
        revision = repository.push("Write")
    there = subprocess.run(
        ["git", "rev-parse", "main"], cwd=machine / "git" / "platform.git", capture_output=True, text=True, check=True
    )

    assert "git://lockstep-git.argocd/platform.git" == repository.url
    assert revision == there.stdout.strip()


def test_kubectl_is_quoted(hub: Real, machine: Path) -> None:
    """A Git server that does not come up is not told as an exit status."""
    (machine / "sick").touch()

    with pytest.raises(HubError, match="kubectl rollout: error: timed out"):
        hub.serve("platform")


def test_a_part_that_is_not_there_does_not_count_as_restarted(hub: Real) -> None:
    """Another installation may label its pods otherwise."""
    with pytest.raises(HubError, match="no pod in argocd is labelled"):
        hub.restart("argocd-redis")


def test_a_command_becomes_an_address_of_git() -> None:
    """Spaces and per cent signs within a word are kept; ``%S`` is left for Git."""
    assert "a% b 100%% %S" == transport(["a b", "100%", "%S"])
