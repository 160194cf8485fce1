"""Which engine the pods find under its own command name, and what its image would bring along."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, TypeAlias

from lockstep.errors import LockstepError
from lockstep.rehearse import real_engine, tree
from lockstep.standin.install import install

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockstep.rehearse.manifest import Group
Environment: TypeAlias = "Callable[[int, Path], dict[str, str]]"  # from a rank and its pod's folder

# Notes where the engine's first process is, so that a fault can hit it and nothing else.
WRAPPER = """\
#!/bin/sh
if [ "$1" = serve ]; then echo $$ >"$LOCKSTEP_REHEARSAL/engine"; fi
exec {program} "$@"
"""
CONTROL = "control"  # in a pod's folder: what the stand-in is told while it runs
PASSED_ON = ("STANDIN_", "LC_", "LANG", "TZ")


def environments(kind: str, group: Group, folder: Path, loads: dict[int, float]) -> Environment:
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

    Raises
    ------
    LockstepError
        When there is no real engine, or not enough GPUs for all nodes.
    """
    common = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    commands = folder / "bin"
    path = os.pathsep.join([str(commands), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
    if kind == "real":
        return _real(group, commands, common | {"PATH": path})
    _must_be_known(group)
    install(folder / "standin")
    _script(commands / "vllm", WRAPPER.format(program=shlex.quote(str(folder / "standin" / "vllm"))))
    _script(commands / "python3", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    version = image_version(group)
    if version:
        common.setdefault("STANDIN_VERSION", version)

    def environment(rank: int, pod: Path) -> dict[str, str]:
        usual = float(common.get("STANDIN_LOAD_SECONDS", "1"))
        load = str(usual + loads.get(rank, 0.0))
        return common | {"PATH": path, "STANDIN_LOAD_SECONDS": load, "STANDIN_CONTROL": str(pod / CONTROL)}

    return environment


def contract(group: Group) -> dict[str, str]:
    """Return the plain values in the environment of the leader's engine container."""
    entries = tree.items(group.pod(0).container(), "env")
    return {tree.text(each, "name"): tree.text(each, "value") for each in entries}


def _must_be_known(group: Group) -> None:
    given = contract(group)
    engine, executor = given.get("LOCKSTEP_ENGINE"), given.get("LOCKSTEP_EXECUTOR", "mp")
    if (engine, executor) != ("vllm", "mp"):
        raise LockstepError(
            f"the stand-in engine speaks vllm with the executor mp, and this group runs {engine} with {executor}: "
            "rehearse it with --engine real where that is installed, or with engine.name vllm"
        )


def _real(group: Group, commands: Path, common: dict[str, str]) -> Environment:
    per_node = int(contract(group).get("LOCKSTEP_GPUS_PER_NODE") or 1)
    parts = real_engine.shares(os.environ, group.size, per_node)
    _script(commands / "vllm", WRAPPER.format(program=shlex.quote(str(parts[0].engine.bin / "vllm"))))
    shares = [part.environment(common) for part in parts]
    for share in shares:
        share["PATH"] = os.pathsep.join([str(commands), share["PATH"]])
    return lambda rank, _: common | shares[rank]


def _script(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


def image_version(group: Group) -> str | None:
    """Return the version in the tag of the engine's image; None when the tag is no version."""
    found = re.search(r":v?(\d+\.\d+\.\d+)[^/]*$", tree.text(group.pod(0).container(), "image"))
    return found[1] if found else None
