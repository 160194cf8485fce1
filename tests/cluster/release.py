"""One Helm release in its namespace: install, change, observe."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from ci.sim.folders import REPOSITORY, program

from tests.cluster import server
from tests.cluster.waiting import calm, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_helm_charts.clusters import Cluster

Manifest = dict[str, Any]
Completed = subprocess.CompletedProcess[str]
CHART = REPOSITORY / "charts" / "serving"
EXAMPLES = sorted((REPOSITORY / "values" / "examples").glob("*.yaml"))
GROUP = "leaderworkerset.sigs.k8s.io/group-index"
WORKER = "leaderworkerset.sigs.k8s.io/worker-index"


def two_nodes(**changes: Any) -> Manifest:
    """Values of a model on groups of two 8-GPU nodes, with top-level keys replaced or added."""
    values = {
        "model": {"id": "deepseek-ai/DeepSeek-R1"},
        "engine": {"name": "vllm"},
        "stack": {"name": "lws"},
        "group": {"nodes": 2, "gpusPerNode": 8},
    }
    return {**values, **changes}


@dataclass(frozen=True)
class Release:
    """A release by its name; nothing is cached, every look goes to the API server.

    Attributes
    ----------
    site
        Values of the cluster: beneath those of a test, above presets.
    """

    cluster: Cluster
    namespace: str
    chart: Path = CHART
    name: str = "model"
    site: Path | None = None

    # What is done

    def helm(
        self, *arguments: str, values: Manifest | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run Helm in the namespace, with ``values`` on its standard input."""
        command = [str(program("helm")), *arguments, "--namespace", self.namespace]
        if self.cluster.kube_config_path:
            command += ["--kubeconfig", self.cluster.kube_config_path]
        if values is not None:
            command += ["--values", "-"]
        text = yaml.safe_dump(values) if values is not None else None
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert not (check and done.returncode), f"{' '.join(arguments)} failed: {done.stderr}"
        return done

    def apply(self, values: Manifest, *files: Path, check: bool = True) -> Completed:
        """Install or upgrade with ``values`` above the files."""
        beneath = [word for file in (*files, *filter(None, [self.site])) for word in ("--values", str(file))]
        return self.helm("upgrade", "--install", self.name, str(self.chart), *beneath, values=values, check=check)

    def uninstall(self) -> None:
        """Remove the release."""
        self.helm("uninstall", self.name, "--ignore-not-found")

    def annotate(self, pod: str, text: str) -> None:
        """Set or remove (``key-``) an annotation of one live pod."""
        self.cluster.kubectl(f"annotate pod {pod} --overwrite {text}", namespace=self.namespace)

    def delete_pod(self, pod: str) -> None:
        """Delete a pod as ``kubectl delete pod`` does, without waiting for it to go."""
        self.cluster.kubectl(f"delete pod {pod} --wait=false", namespace=self.namespace)

    # What is seen

    def image(self, version: str) -> str:
        """Image of a version of vLLM on this cluster."""
        site = yaml.safe_load(self.site.read_text()) if self.site else {}
        repository = site.get("engine", {}).get("image", {}).get("repository", "vllm/vllm-openai")
        return f"{repository}:v{version}"

    def get(self, plural: str, selector: str = "") -> list[Manifest]:
        """List objects of one kind in the namespace."""
        found: list[Manifest] = server.read(self.cluster, self.namespace, plural, labelSelector=selector)["items"]
        return found

    def one(self, plural: str, name: str) -> Manifest:
        """Read one object of the namespace."""
        return server.read(self.cluster, self.namespace, plural, name)

    def pods(self) -> list[Manifest]:
        """List the release's pods, by name."""
        return sorted(self.get("pods", f"lockstep/release={self.name}"), key=lambda pod: str(pod["metadata"]["name"]))

    def uids(self) -> dict[str, str]:
        """UIDs of the pods by name."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods()}

    def endpoints(self) -> list[str]:
        """Names of the pods to which the release's API Service sends requests."""
        slices = self.get("endpointslices", f"kubernetes.io/service-name={self.name}-api")
        every = [endpoint for each in slices for endpoint in each.get("endpoints") or []]
        return sorted(endpoint["targetRef"]["name"] for endpoint in every if endpoint["conditions"]["ready"])

    def group(self, index: int) -> dict[str, str]:
        """UIDs of the pods of one group by name."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in self.pods()
            if pod["metadata"]["labels"].get(GROUP) == str(index)
        }

    def ready(self, pods: int, image: str | None = None) -> list[Manifest]:
        """Wait until there are exactly so many pods, all Ready and none leaving, and return them.

        ``helm --wait`` does not know a LeaderWorkerSet, and its status has no observedGeneration: only the pods tell.
        """

        def look() -> list[Manifest]:
            found = self.pods()
            right = [pod for pod in found if is_ready(pod) and (image is None or image in images(pod))]
            return found if len(found) == len(right) == pods else []

        return eventually(f"{pods} Ready pods of {self.name}" + (f" with {image}" if image else ""), look)

    def replaced(self, gone: Mapping[str, str], pods: int) -> list[Manifest]:
        """Wait until none of the pods in ``gone`` (UIDs by name) is left and there are so many Ready ones."""
        eventually(f"{', '.join(gone)} to be replaced", lambda: not set(gone.values()) & set(self.uids().values()))
        return self.ready(pods)

    def settled(self) -> dict[str, str]:
        """Wait until no pod comes or goes, and return the UIDs."""
        return calm(f"pods of {self.name}", self.uids)

    @contextmanager
    def recorded(self, folder: Path) -> Iterator[list[str]]:
        """Record the name of every pod that is created meanwhile, also of those that vanish at once.

        The list is filled when the block ends. There must be a pod when it begins.
        """
        before = set(self.uids().values())
        created: list[str] = []
        file = folder / "pods.json"
        command = [str(program("kubectl")), "get", "pods", "--watch", "--output-watch-events", "--output", "json"]
        command += ["--namespace", self.namespace, "--kubeconfig", str(self.cluster.kube_config_path)]
        with file.open("w") as output, subprocess.Popen(command, stdout=output) as watch:
            try:
                eventually("the watch to begin", lambda: len(events(file)) >= len(before))
                yield created
            finally:
                watch.terminate()
        added = [event["object"]["metadata"] for event in events(file) if event["type"] == "ADDED"]
        created.extend(pod["name"] for pod in added if pod["uid"] not in before)


def events(file: Path) -> list[Manifest]:
    """Read the complete JSON documents that ``kubectl --watch`` has written so far."""
    text, found, decoder = file.read_text(), [], json.JSONDecoder()
    while text:
        try:
            event, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            break  # not written to its end yet
        found.append(event)
        text = text[end:].lstrip()
    return found


def is_ready(pod: Manifest) -> bool:
    """Whether a pod is Ready and stays."""
    conditions = pod["status"].get("conditions") or []
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def images(pod: Manifest) -> set[str]:
    """Images of a pod's containers."""
    return {container["image"] for container in pod["spec"]["containers"]}


def environment(pod: Manifest) -> dict[str, str]:
    """Variables of the engine container as the API server stored them; those from a field are left out."""
    engine = next(container for container in pod["spec"]["containers"] if container["name"] == "engine")
    return {variable["name"]: variable["value"] for variable in engine["env"] if "value" in variable}
