"""One running cluster: start its processes in order, remember them in a file, end them all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ci.sim import chart, nodes, pki, ports, process
from ci.sim.api import Api, administrator
from ci.sim.component import fill
from ci.sim.folders import CLUSTERS, SOURCE, program
from ci.sim.ready import answers, true_conditions, untainted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ci.sim.component import Component, Process

# Only these reach the processes: a proxy variable would send loopback traffic away.
KEEP = ("PATH", "HOME", "TMPDIR", "LANG")
MEMORY = Path("/dev/shm")  # noqa: S108 (etcd lives in memory where there is such a folder)
PATIENCE = 180.0  # seconds for one process or object to become ready; a busy machine is slow, not broken
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1"


class ClusterError(Exception):
    """The cluster could not be started; the message says what was waited for and shows the log."""


class Cluster:
    """A cluster by its name. Its folder holds all there is to know of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = CLUSTERS / name
        self.kubeconfig = self.folder / "kubeconfig"

    # What is known of it

    @property
    def state(self) -> dict[str, Any]:
        """What ``up`` wrote down; empty when there is no such cluster."""
        try:
            state: dict[str, Any] = json.loads((self.folder / "state.json").read_text())
        except FileNotFoundError:
            return {}
        return state

    @property
    def processes(self) -> list[process.Running]:
        """Every process that was started for it."""
        return [process.Running(**entry) for entry in self.state.get("processes", [])]

    @property
    def running(self) -> bool:
        """Whether it was started to the end and all of its processes are there."""
        return bool(self.state.get("ready")) and all(one.alive for one in self.processes)

    @property
    def addons(self) -> list[str]:
        """Names of the add-ons it runs."""
        return list(self.state.get("addons", []))

    def remember(self, **changes: Any) -> None:
        """Write changes of the state to the file in one step."""
        part = self.folder / "state.part"
        part.write_text(json.dumps({**self.state, **changes}, indent=1))
        part.replace(self.folder / "state.json")

    # Its life

    def up(self, components: dict[str, tuple[Component, Path]], kind: nodes.Kind, count: int) -> None:
        """Start the cluster.

        Parameters
        ----------
        components
            What to run and the folder with its binaries, by name, the core first.
        kind, count
            The accelerator nodes to simulate.

        Raises
        ------
        ClusterError
            It runs already, or something did not become ready; then nothing is left running.
        """
        if self.running:
            raise ClusterError(f"cluster {self.name} runs already: use {self.kubeconfig}, or end it first")
        self.down()  # what a killed run has left
        self.folder.mkdir(parents=True)
        try:
            self.start(components, kind, count)
        except BaseException:
            self.end()
            raise

    def start(self, components: dict[str, tuple[Component, Path]], kind: nodes.Kind, count: int) -> None:
        """Do the work of ``up``."""
        began = time.monotonic()
        parts = [component for component, _ in components.values()]
        port = ports.free([name for part in parts for each in part.processes for name in each.ports])
        memory = tempfile.mkdtemp(prefix=f"lockstep-sim-{self.name}-", dir=MEMORY if MEMORY.is_dir() else None)
        addons = [part.name for part in parts if part.namespace]
        self.remember(memory=memory, addons=addons, processes=[], ports=port)
        for name in ("logs", "files", "git"):
            (self.folder / name).mkdir()
        pki.create(self.folder / "pki")
        self.kubeconfig.write_text(
            pki.kubeconfig(self.folder / "pki", f"https://127.0.0.1:{port['kube-apiserver']}", f"sim-{self.name}")
        )
        self.kubeconfig.chmod(0o600)
        names = {
            "memory": memory,
            "pki": str(self.folder / "pki"),
            "files": str(self.folder / "files"),
            "kubeconfig": str(self.kubeconfig),
            "source": str(SOURCE),
            "repositories": str(self.folder / "git"),
            "path": os.pathsep.join([str(program("helm").parent), os.environ["PATH"]]),
            **{f"port.{name}": str(number) for name, number in port.items()},
        }
        for component, binaries in components.values():
            if not component.namespace:
                self.run(component, binaries, names)
        with closing(Api(administrator(port["kube-apiserver"], self.folder / "pki"))) as api:
            for node in nodes.build(kind, count):
                api.create("/api/v1/nodes", node)
            self.extend(api, [pair for pair in components.values() if pair[0].namespace], names)
            self.settle(api)
        self.remember(ready=True, seconds=round(time.monotonic() - began, 1))

    def extend(self, api: Api, addons: Sequence[tuple[Component, Path]], names: dict[str, str]) -> None:
        """Start the add-ons: all CRDs, then each controller, then its webhooks, which must find it listening."""
        authority = pki.authority(self.folder / "pki")
        rendered = {component.name: chart.read(binaries) for component, binaries in addons}
        address = {
            component.name: "https://127.0.0.1:" + names[f"port.{component.chart.webhook_port}"]
            for component, _ in addons
            if component.chart
        }
        crds = [
            api.create(CRDS, crd)["metadata"]["name"]
            for name, objects in rendered.items()
            for crd in chart.definitions(objects, address.get(name, ""), authority)
        ]
        for name in crds:
            with self.waiting(f"CRD {name}") as wait:
                while "Established" not in true_conditions(api.get(f"{CRDS}/{name}")):
                    wait()
        groups = api.groups()
        for component, binaries in addons:
            api.create("/api/v1/namespaces", {"metadata": {"name": component.namespace}})
            objects = rendered[component.name]
            for item in chart.others(objects):
                api.create(f"/api/v1/namespaces/{component.namespace}/{item['kind'].lower()}s", item)
            self.run(component, binaries, names)
            for hook in chart.webhooks(objects, address.get(component.name, ""), authority, groups):
                api.create(f"{HOOKS}/{hook['kind'].lower()}s", hook)

    def run(self, component: Component, binaries: Path, names: dict[str, str]) -> None:
        """Write a component's files, start its processes, and wait for those that say when they are ready."""
        for file, text in component.files.items():
            (self.folder / "files" / file).write_text(fill(text, names))
        for each in component.processes:
            argv = [fill(word, names) for word in each.argv]
            argv[0] = str(binaries / argv[0])
            environment = {name: os.environ[name] for name in KEEP if name in os.environ}
            environment["KUBECONFIG"] = str(self.kubeconfig)
            environment.update({name: fill(text, names) for name, text in each.environment.items()})
            self.remember(commands={**self.state.get("commands", {}), each.name: [argv, environment]})
            self.launch(each.name)
            for address in each.ready:
                self.wait_for(each, fill(address, names))

    def launch(self, name: str) -> None:
        """Start a process as its command was remembered."""
        argv, environment = self.state["commands"][name]
        started = process.start(name, argv, environment, self.folder)
        entries = {entry["name"]: entry for entry in self.state["processes"]}  # in the order of their ends
        self.remember(processes=list({**entries, name: asdict(started)}.values()))

    def restart(self, name: str) -> None:
        """End one process and start it again on the same ports, without waiting for it to be ready."""
        process.stop([one for one in self.processes if one.name == name])
        self.launch(name)

    def revive(self) -> None:
        """Start again what has ended by itself, as a kubelet does: kube-scheduler ends when its cache is corrupted."""
        for one in self.processes:
            if not one.alive:
                self.launch(one.name)

    def wait_for(self, each: Process, address: str) -> None:
        """Wait until a process answers at ``address``."""
        with self.waiting(f"{each.name} at {address}") as wait:
            while not answers(address, self.folder / "pki" / "ca.crt"):
                wait()

    def settle(self, api: Api) -> None:
        """Wait until every node is Ready and a namespace has its default ServiceAccount."""
        with self.waiting("the nodes to be Ready") as wait:
            while not all(
                "Ready" in true_conditions(node) and untainted(node) for node in api.get("/api/v1/nodes")["items"]
            ):
                wait()
        with self.waiting("the default ServiceAccount") as wait:
            while not api.get("/api/v1/namespaces/default/serviceaccounts")["items"]:
                wait()

    @contextmanager
    def waiting(self, what: str) -> Iterator[Any]:
        """Give a function that sleeps a moment, and refuses to when a process has ended or it takes too long."""
        deadline = time.monotonic() + PATIENCE

        def wait() -> None:
            for one in self.processes:
                if not one.alive:
                    raise ClusterError(
                        f"{one.name} ended while waiting for {what}; the end of its log:\n{self.tail(one.name)}"
                    )
            if time.monotonic() > deadline:
                raise ClusterError(f"waited {PATIENCE:.0f} s for {what}; the logs are in {self.folder / 'logs'}")
            time.sleep(0.05)

        yield wait

    def tail(self, name: str) -> str:
        """End of a process's log."""
        return "\n".join((self.folder / "logs" / f"{name}.log").read_text(errors="replace").splitlines()[-8:])

    def end(self) -> None:
        """End every process and free the memory; the logs stay."""
        if self.folder.is_dir():
            self.remember(ready=False)  # first: who watches the cluster shall not take this for a crash
        process.stop(self.processes)
        if memory := self.state.get("memory"):
            shutil.rmtree(memory, ignore_errors=True)

    def down(self) -> None:
        """End the cluster and remove its folder."""
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def clusters() -> list[Cluster]:
    """Every cluster that has a folder, running or not."""
    return [Cluster(folder.name) for folder in sorted(CLUSTERS.glob("*")) if folder.is_dir()]
