"""What can be done with pods that really run: ask them, look into them, hurt them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ci.kind.client import KILL_ENGINE, Client
from ci.sim.folders import program

if TYPE_CHECKING:
    from tests.cluster.release import Manifest, Release


def client(release: Release) -> Client:
    """Give the pod that asks the release, which ``start`` makes."""
    where = ("--kubeconfig", str(release.cluster.kube_config_path), "--namespace", release.namespace)
    return Client((str(program("kubectl")), *where), (str(program("helm")), *where))


def ask(release: Release, model: str, tokens: int = 4, patience: float = 5) -> Manifest | None:
    """Ask for a completion; None when there is none."""
    return client(release).ask(model, tokens, patience)


def run(release: Release, pod: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the engine container of a pod."""
    base = [program("kubectl"), "--kubeconfig", str(release.cluster.kube_config_path), "--namespace", release.namespace]
    words = [*base, "exec", pod, "--container", "engine", "--", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def kill_engine(release: Release, pod: str) -> None:
    """Kill the engine of one rank."""
    done = run(release, pod, "python3", "-c", KILL_ENGINE.read_text())
    assert done.returncode == 0, done.stderr


def kill_container(release: Release, pod: str) -> None:
    """Kill process 1 and with it the container, from the node: the kernel ignores such a signal from inside."""
    found = release.one("pods", pod)
    statuses = found["status"]["containerStatuses"]
    container = next(each["containerID"] for each in statuses if each["name"] == "engine").partition("://")[2]
    node = found["spec"]["nodeName"]
    subprocess.run(
        ["docker", "exec", node, "crictl", "stop", "--timeout", "0", container], check=True, capture_output=True
    )


def restarts(pod: Manifest) -> int:
    """Restarts of the engine container."""
    statuses = pod["status"]["containerStatuses"]
    return int(next(each["restartCount"] for each in statuses if each["name"] == "engine"))


def log(release: Release, pod: str) -> str:
    """Log of the engine container."""
    return str(release.cluster.kubectl(f"logs {pod} --container engine", output_format="", namespace=release.namespace))
