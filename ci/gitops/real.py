"""A cluster with real pods as Argo CD's: reached with kubectl alone, so whatever its kubeconfig says is enough."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import tempfile
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from ci.gitops.argocd import OURS
from ci.gitops.hub import API_SERVER, NAMESPACE, cluster_secret
from ci.sim.api import Api, ApiError, NotFoundError
from ci.sim.folders import program
from ci.sim.ready import true_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

CORE = f"/api/v1/namespaces/{NAMESPACE}"
CLUSTERS = f"{CORE}/secrets?labelSelector=argocd.argoproj.io%2Fsecret-type%3Dcluster"
SERVER = f"{CORE}/services/https:argocd-server:443/proxy"
GIT = "lockstep-git"
# An address of the API server that is not the one Argo CD calls its own.
ALIAS = "https://kubernetes.default"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
# It answers for a while yet; who asks next shall ask the new one.
END = 'pid=$(pgrep -x "$1") && kill "$pid" && while [[ -d /proc/$pid ]]; do sleep 0.1; done'


class HubError(Exception):
    """The cluster or Argo CD in it refused; the message holds its words."""


class Socket(HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Real:
    """A cluster by its kubeconfig, with Argo CD in the namespace argocd.

    Its Git server is there from the first ``serve`` to ``close``.
    """

    def __init__(self, kubeconfig: Path) -> None:
        # A push runs it in another folder.
        self.kubectl = [str(program("kubectl")), "--kubeconfig", str(kubeconfig.absolute()), "--namespace", NAMESPACE]
        self.folder = Path(tempfile.mkdtemp(prefix="lockstep-proxy-"))  # nobody else may look into it
        self.socket = self.folder / "socket"
        # It does whatever the kubeconfig wants: certificates, tokens, plug-ins.
        proxy = [*self.kubectl, "proxy", f"--unix-socket={self.socket}"]
        self.proxy = subprocess.Popen(proxy, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.proxy.stdout:
            self.proxy.stdout.readline()  # it serves when it says so
        self.token = ""
        self.serves = False

    def close(self) -> None:
        """Take away what was made here."""
        self.proxy.terminate()
        self.proxy.communicate()
        shutil.rmtree(self.folder)
        if self.serves:
            self.run("delete", f"deployment/{GIT}", f"service/{GIT}", "--ignore-not-found", "--cascade=foreground")

    def unfit(self) -> str:
        """Say why the suite may not have this Argo CD; empty when it may.

        It makes projects, sets, Applications and clusters there, and has all of them removed at the end.
        """
        try:
            with self.api() as api:
                lists = [f"{OURS}/{plural}" for plural in ("applications", "applicationsets", "appprojects")]
                found = [item["metadata"]["name"] for path in (*lists, CLUSTERS) for item in api.get(path)["items"]]
            with self.argocd() as argocd:
                argocd.get("/api/v1/projects/default")
        except NotFoundError:
            return f"the cluster has no Argo CD in the namespace {NAMESPACE}, or not as its installation left it"
        except (ApiError, OSError, HTTPException) as error:
            return f"Argo CD does not answer: {error}"
        names = [name for name in found if name != "default"]  # the project that is always there
        return (
            f"its Argo CD is in use ({', '.join(names[:4])}): the suite needs one with nothing in it" if names else ""
        )

    def run(self, *words: str, given: str | None = None) -> str:
        """Run kubectl in Argo CD's namespace and return what it prints.

        Raises
        ------
        HubError
            It failed.
        """
        done = subprocess.run([*self.kubectl, *words], input=given, check=False, capture_output=True, text=True)
        if done.returncode:
            raise HubError(f"kubectl {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def api(self) -> closing[Api]:
        """Open a connection to its API server."""
        return closing(Api(Socket(self.socket)))

    def argocd(self) -> closing[Api]:
        """Open a connection to Argo CD's own API server, as the administrator that its installation made.

        The token goes as a cookie: the API server's proxy takes other credentials for its own.
        """
        if not self.token:
            with self.api() as api:
                secret = api.get(f"{CORE}/secrets/argocd-initial-admin-secret")
                password = base64.b64decode(secret["data"]["password"]).decode()
                login = {"username": "admin", "password": password}
                self.token = api.create(f"{SERVER}/api/v1/session", login)["token"]
        return closing(Api(Socket(self.socket), prefix=SERVER, headers={"Cookie": f"argocd.token={self.token}"}))

    def serve(self, name: str) -> tuple[str, str]:
        """Make an empty repository in a Git server beside Argo CD."""
        first = "jsonpath={.spec.template.spec.containers[0].image}"
        image = self.run("get", "deployment/argocd-repo-server", "--output", first)
        objects = Template((Path(__file__).parent / "git.yaml").read_text()).substitute(name=GIT, image=image)
        self.run("apply", "--server-side", "--filename", "-", given=objects)
        self.serves = True
        self.run("rollout", "status", f"deployment/{GIT}", "--timeout", "180s")
        folder = f"/git/{name}.git"
        new = 'rm -rf "$1" && git init --quiet --bare --initial-branch=main "$1"'
        self.run("exec", f"deployment/{GIT}", "--", "sh", "-c", new, "sh", folder)
        push = [*self.kubectl, "exec", "--stdin", f"deployment/{GIT}", "--", "%S", folder]
        return f"ext::{transport(push)}", f"git://{GIT}.{NAMESPACE}/{name}.git"

    def restart(self, part: str) -> None:
        """Delete its pod. The Git server's repositories would go, so it is only ended, as is the API server of kind."""
        if part == API_SERVER:
            planes = self.run("get", "nodes", "--selector", CONTROL_PLANE, "--output", "name").split()
            node = planes[0].partition("/")[2]
            subprocess.run(["docker", "exec", node, "bash", "-c", END, "bash", part], check=True, timeout=120)
        elif part == "git":
            self.run("exec", f"deployment/{GIT}", "--", "sh", "-c", "kill 1")
        elif not self.run("delete", "pod", "--selector", f"app.kubernetes.io/name={part}", "--wait=false"):
            raise HubError(f"no pod in {NAMESPACE} is labelled app.kubernetes.io/name={part}")

    def revive(self) -> None:
        """Nothing to do: kubelets do it."""

    def lost(self) -> list[str]:
        """Name the pods of Argo CD that are neither Ready nor done."""
        with self.api() as api:
            pods = api.get(f"{CORE}/pods")["items"]
        well = [pod["status"].get("phase") == "Succeeded" or "Ready" in true_conditions(pod) for pod in pods]
        return [pod["metadata"]["name"] for pod, is_well in zip(pods, well, strict=True) if not is_well]

    def alias(self, name: str, labels: dict[str, str]) -> dict[str, Any]:
        """Give the Secret that makes this cluster known to Argo CD once more, as one of another name."""
        account = f"{CORE}/serviceaccounts/argocd-application-controller/token"
        with self.api() as api:
            token = api.create(account, {"spec": {"expirationSeconds": 24 * 3600}})["status"]["token"]
            authority = api.get(f"{CORE}/configmaps/kube-root-ca.crt")["data"]["ca.crt"]
        tls = {"caData": base64.b64encode(authority.encode()).decode()}
        return cluster_secret(name, ALIAS, {"bearerToken": token, "tlsClientConfig": tls}, labels)


def transport(words: Sequence[str]) -> str:
    """Write a command as Git's ``ext::`` transport reads it; ``%S`` is the service that Git asks for."""
    return " ".join(word if word == "%S" else word.replace("%", "%%").replace(" ", "% ") for word in words)
