"""A component of the cluster as data: what is built, which files it reads, which processes run it.

``components/NAME.yaml`` describes it and ``tools/NAME/go.mod`` pins it. Another controller is another pair of these.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from ci.sim.folders import SOURCE, program

if TYPE_CHECKING:
    from collections.abc import Mapping

# Always started, in this order.
CORE = ("etcd", "kubernetes", "kwok")
# What may be added, in the order of building and starting; those on request only when they are named.
ADDONS = ("lws", "kueue")
ON_REQUEST = ("argocd",)
EVERY = CORE + ADDONS + ON_REQUEST


@dataclass(frozen=True)
class Process:
    """One process: its command line, its named ports, and the addresses that answer once it is ready."""

    name: str
    ports: tuple[str, ...]
    argv: tuple[str, ...]
    ready: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """The component's own chart inside its Go module: the source of its CRDs and webhooks."""

    path: str
    namespace: str
    webhook_port: str


@dataclass(frozen=True)
class Manifests:
    """Files of the component's Go module, by patterns: CRDs, and objects of its namespace; where it has no chart."""

    namespace: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Patch:
    """One exact replacement in the module's main program, which is one file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Component:
    """Everything that is known about a component before a cluster exists."""

    name: str
    binaries: Mapping[str, str]
    processes: tuple[Process, ...]
    module: str
    stamp: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    chart: Chart | None = None
    patch: Patch | None = None
    manifests: Manifests | None = None

    @property
    def namespace(self) -> str | None:
        """The add-on's namespace; the core has none."""
        source = self.chart or self.manifests
        return source.namespace if source else None

    @property
    def tools(self) -> Path:
        """The Go module that pins the component."""
        return SOURCE / "tools" / self.name

    @property
    def description(self) -> Path:
        """The file this was read from."""
        return SOURCE / "components" / f"{self.name}.yaml"

    def version(self) -> str:
        """Version of the component's module, as pinned.

        Raises
        ------
        ValueError
            The pinned requirements do not name the module.
        """
        pins = (self.tools / "go.mod").read_text()
        pinned = re.search(rf"^\s*(?:require )?{re.escape(self.module)} (v\S+)", pins, re.MULTILINE)
        if not pinned:
            raise ValueError(f"{self.tools}/go.mod does not require {self.module}")
        return pinned[1]

    def module_folder(self) -> Path:
        """Folder of the module's source in Go's module cache, downloaded if it is not there."""
        go = [str(program("go")), "list", "-m", "-f", "{{.Dir}}", self.module]
        # What was built is there already; a proxy that does not answer shall not hold what is only read.
        subprocess.run([program("go"), "mod", "download", self.module], cwd=self.tools, check=True, timeout=300)
        return Path(subprocess.run(go, cwd=self.tools, check=True, capture_output=True, text=True).stdout.strip())


def load(name: str) -> Component:
    """Read ``components/NAME.yaml``."""
    raw = yaml.safe_load((SOURCE / "components" / f"{name}.yaml").read_text())
    processes = tuple(
        Process(
            name=process["name"],
            ports=tuple(process["ports"]),
            argv=tuple(process["argv"]),
            ready=tuple(process.get("ready", ())),
            environment={**raw.get("environment", {}), **process.get("environment", {})},
        )
        for process in raw["processes"]
    )
    chart, manifests = raw.get("chart"), raw.get("manifests")
    return Component(
        name=name,
        binaries=raw["binaries"],
        processes=processes,
        module=raw["module"],
        stamp=raw.get("stamp", {}),
        files=raw.get("files", {}),
        chart=Chart(chart["path"], chart["namespace"], chart["webhookPort"]) if chart else None,
        patch=Patch(**raw["patch"]) if "patch" in raw else None,
        manifests=Manifests(manifests["namespace"], tuple(manifests["files"])) if manifests else None,
    )


def fill(text: str, names: Mapping[str, str]) -> str:
    """Replace each ``${name}`` in ``text``.

    Raises
    ------
    KeyError
        A name that is not in ``names``.
    """
    return re.sub(r"\$\{([a-z.-]+)\}", lambda match: names[match[1]], text)
