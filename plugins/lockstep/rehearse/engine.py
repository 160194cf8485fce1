"""Which engine the pods find under its own command name, and what its image would bring along."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, TypeAlias

from lockstep.errors import LockstepError
from lockstep.rehearse import companions, real_engine, tree
from lockstep.standin.install import VERSIONS, install

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockstep.rehearse.manifest import Group
Environment: TypeAlias = "Callable[[int, Path], dict[str, str]]"  # from a rank and its pod's folder

CONTROL = "control"  # in a pod's folder: what the stand-in is told while it runs
PASSED_ON = ("STANDIN_", "LC_", "LANG", "TZ")
USUAL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environments(kind: str, group: Group, folder: Path, loads: dict[int, float], network: str) -> Environment:
    """Prepare the engine and return what gives each rank the environment of its image.

    Parameters
    ----------
    kind : str
        ``standin`` or ``real``.
    group : Group
        Says how many nodes and GPUs there are, and which version of the engine.
    folder : Path
        Where the commands are put that go first on PATH.
    loads : dict of float
        Seconds by which a rank loads longer (stand-in).
    network : str
        ``namespaces`` or ``loopback``.

    Raises
    ------
    LockstepError
        When there is no real engine, not enough GPUs for all nodes, or not what a stand-in is combined with.
    """
    common = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    commands = folder / "bin"
    given = contract(group)
    if kind == "real":
        return _real(group, common | {"PATH": USUAL})
    beside = companions.find(given, group.size, network)
    name = given.get("LOCKSTEP_ENGINE", "vllm")
    install(commands, beside.python, name, ray=beside.gpus > 0)
    _script(commands / "python3", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    common["PATH"] = os.pathsep.join([str(commands), *map(str, beside.path), USUAL])
    common.setdefault("STANDIN_VERSION", image_version(group) or VERSIONS[name])

    def environment(rank: int, pod: Path) -> dict[str, str]:
        usual = float(common.get("STANDIN_LOAD_SECONDS", "1"))
        load = str(usual + loads.get(rank, 0.0))
        own = {"STANDIN_LOAD_SECONDS": load, "STANDIN_CONTROL": str(pod / CONTROL)}
        return common | beside.environment(pod) | own

    return environment


def contract(group: Group) -> dict[str, str]:
    """Return the plain values in the environment of the leader's engine container."""
    entries = tree.items(group.pod(0).container(), "env")
    return {tree.text(each, "name"): tree.text(each, "value") for each in entries}


def _real(group: Group, common: dict[str, str]) -> Environment:
    given = contract(group)
    if given.get("LOCKSTEP_ENGINE") != "vllm" or given.get("LOCKSTEP_EXECUTOR", "mp") != "mp":
        raise LockstepError("the real engine of a rehearsal is vLLM with the executor mp; leave --engine real out")
    shares = real_engine.shares(os.environ, group.size, int(given.get("LOCKSTEP_GPUS_PER_NODE") or 1))
    return lambda rank, _: common | shares[rank].environment(common)


def _script(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


def image_version(group: Group) -> str | None:
    """Return the version in the tag of the engine's image; None when the tag is no version."""
    found = re.search(r":v?(\d+\.\d+\.\d+)[^/]*$", tree.text(group.pod(0).container(), "image"))
    return found[1] if found else None
