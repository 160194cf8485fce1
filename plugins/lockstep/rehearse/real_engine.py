"""Find the real engine on this machine, and give each node of a group its share of the GPUs.

In this order: the folder that ``LOCKSTEP_ENGINE_FOLDER`` names, a ``vllm`` on the PATH, the newest venv that
``make engine-cpu`` installed. A pod is given the engine by ``Share.environment``: the PATH begins with the
engine's own folder, so that ``vllm`` and ``python3`` are those of its image, and CUDA_VISIBLE_DEVICES holds
the GPUs of this node alone. vLLM takes the number of visible GPUs as that of the ranks of a node
(vllm/distributed/device_communicators/shm_broadcast.py), as it is in a pod.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = "LOCKSTEP_ENGINE_FOLDER"
STAMP = "engine.json"  # the last file that ci/engine-cpu/install writes
DEVICES = "CUDA_VISIBLE_DEVICES"


class EngineNotFoundError(LockstepError):
    """There is no real engine on this machine; the text says how to get one."""


@dataclass(frozen=True)
class RealEngine:
    """An installed vLLM.

    Attributes
    ----------
    folder : Path
        A venv, or whatever holds ``bin/vllm``.
    cpu_only : bool
        Whether it is the build that ``make engine-cpu`` installs, which leaves GPUs alone.
    """

    folder: Path
    cpu_only: bool

    @property
    def bin(self) -> Path:
        """The folder that holds ``vllm`` and its ``python3``."""
        return self.folder / "bin"

    def model(self, name: str = "tiny") -> Path:
        """Return one of the models that were made with the venv: ``tiny`` or ``tiny-float32``."""
        return self.folder / "models" / name


@dataclass(frozen=True)
class Share:
    """What one node of a rehearsed group has of this machine; ``gpus`` is empty on a machine without."""

    engine: RealEngine
    gpus: tuple[str, ...]

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that differ from ``environ``: PATH, and the visible GPUs."""
        path = os.pathsep.join((str(self.engine.bin), environ.get("PATH", os.defpath)))
        return {"PATH": path, DEVICES: ",".join(self.gpus)}


def find(environ: Mapping[str, str]) -> RealEngine:
    """Return the engine that a rehearsal shall run.

    Raises
    ------
    EngineNotFoundError
        When there is none, or none where the variable says.
    """
    on_path = shutil.which("vllm", path=environ.get("PATH", os.defpath))
    if on_path and not environ.get(FOLDER):
        return RealEngine(Path(on_path).parent.parent, cpu_only=False)
    return find_installed(environ)


def find_installed(environ: Mapping[str, str]) -> RealEngine:
    """Return the engine that the variable names, else the newest that ``make engine-cpu`` installed.

    Raises
    ------
    EngineNotFoundError
        When there is none, or none where the variable says.
    """
    named = environ.get(FOLDER)
    if named:
        folder = Path(named).expanduser()
        if not (folder / "bin" / "vllm").is_file():
            raise EngineNotFoundError(f"{FOLDER} is {named}, but there is no {folder}/bin/vllm")
        return RealEngine(folder, cpu_only=(folder / STAMP).is_file())
    stamps = sorted(_cache(environ).glob(f"engine-cpu-*/{STAMP}"), key=lambda stamp: stamp.stat().st_mtime)
    if stamps:
        return RealEngine(stamps[-1].parent, cpu_only=True)
    raise EngineNotFoundError(
        f"no vllm on the PATH and none in {_cache(environ)}: `make engine-cpu` in a clone of Lockstep installs vLLM "
        f"for CPU (5 GB, some minutes); {FOLDER} names the venv of another one"
    )


def _cache(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockstep"


def visible_gpus(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs that may be used here: those that CUDA_VISIBLE_DEVICES names, else all of the machine."""
    named = environ.get(DEVICES)
    if named is not None:
        return tuple(each.strip() for each in named.split(",") if each.strip())
    lister = shutil.which("nvidia-smi", path=environ.get("PATH", os.defpath))
    if lister is None:
        return ()
    done = subprocess.run(
        [lister, "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return tuple(done.stdout.split()) if done.returncode == 0 else ()


def split(gpus: Sequence[str], nodes: int, per_node: int) -> list[tuple[str, ...]]:
    """Give each of the nodes its own ``per_node`` GPUs, in order.

    Raises
    ------
    LockstepError
        When there are fewer than ``nodes`` x ``per_node``.
    """
    if len(gpus) < nodes * per_node:
        fits = len(gpus) // nodes
        smaller = f"rehearse it with group.gpusPerNode {fits} and parallelism to match, or " if fits else ""
        raise LockstepError(
            f"the group has {nodes} nodes with {per_node} GPUs each, {nodes * per_node} in all, and this machine shows "
            f"{len(gpus)}: {smaller}rehearse with the stand-in"
        )
    return [tuple(gpus[node * per_node : (node + 1) * per_node]) for node in range(nodes)]


def shares(environ: Mapping[str, str], nodes: int, per_node: int) -> list[Share]:
    """Return what each node of one group gets, rank 0 first.

    Parameters
    ----------
    environ : Mapping
        The environment of the rehearsal itself.
    nodes, per_node : int
        ``group.nodes`` and ``group.gpusPerNode``.

    Raises
    ------
    EngineNotFoundError
        When there is no engine.
    LockstepError
        When the machine has GPUs, and fewer than the group asks for.
    """
    engine = find(environ)
    gpus = () if engine.cpu_only else visible_gpus(environ)
    if not gpus:  # one process per node on the CPU, whatever the number of nodes
        return [Share(engine, ()) for _ in range(nodes)]
    return [Share(engine, part) for part in split(gpus, nodes, per_node)]
