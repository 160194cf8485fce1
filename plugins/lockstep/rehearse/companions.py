"""Real programs that an engine comes with, beside a stand-in for itself: Ray, Open MPI, OpenSSH."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError

if TYPE_CHECKING:
    from collections.abc import Mapping

MPI = {"mpirun": "openmpi-bin", "sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Companions:
    """What a stand-in is combined with.

    Attributes
    ----------
    python : str
        Runs the stand-in: the one that has Ray, where that is used.
    path : tuple of Path
        Folders of the real programs.
    gpus : int
        For Ray, which finds none here: those of a node.
    """

    python: str = sys.executable
    path: tuple[Path, ...] = ()
    gpus: int = 0

    def environment(self, pod: Path) -> dict[str, str]:
        """Return what the programs need in a pod, given its folder."""
        if not self.gpus:
            return {}
        # Ray puts sockets deep below this folder, and their paths end at 107 characters.
        short = pod.parent.parent / f"ray{pod.name}"
        short.mkdir(exist_ok=True)
        return {"RAY_TMPDIR": str(short), "RAY_OVERRIDE_RESOURCES": json.dumps({"GPU": self.gpus})}


def find(contract: Mapping[str, str], nodes: int, network: str) -> Companions:
    """Return what the engine of a group needs beside itself.

    Parameters
    ----------
    contract : mapping of str
        The plain LOCKSTEP_* variables.
    nodes : int
        Of the group.
    network : str
        ``namespaces`` or ``loopback``.

    Raises
    ------
    LockstepError
        When it is not on this machine, or cannot run on this network.
    """
    if contract.get("LOCKSTEP_EXECUTOR") == "ray":
        return _ray(int(contract.get("LOCKSTEP_GPUS_PER_NODE") or 1))
    if contract.get("LOCKSTEP_ENGINE") == "trtllm" and nodes > 1:
        _mpi(network)
    return Companions()


def _ray(gpus: int) -> Companions:
    found = shutil.which("ray")
    if found is None:
        raise LockstepError(
            "engine.executor is ray, and there is no 'ray' on PATH: install it (pip install ray, then activate that "
            "environment), or rehearse with engine.executor: mp"
        )
    folder = Path(found).parent
    python = folder / "python3"
    if not python.exists():
        raise LockstepError(f"{found} has no python3 beside it: put a Ray of a virtual environment first on PATH")
    return Companions(str(python), (folder,), gpus)


def _mpi(network: str) -> None:
    missing = {package for program, package in MPI.items() if shutil.which(program, path=SYSTEM) is None}
    if missing:
        raise LockstepError(
            f"trtllm over several nodes runs Open MPI over OpenSSH; install {', '.join(sorted(missing))}, or rehearse "
            "with group.nodes: 1"
        )
    if network != "namespaces" or _alone_in_user_namespace():
        raise LockstepError(
            "trtllm over several nodes needs network namespaces made by root: Open MPI takes the addresses of one "
            "machine for one node, and sshd changes its user. Rehearse as root, or with group.nodes: 1"
        )


def _alone_in_user_namespace() -> bool:
    """Return whether root here is somebody else outside, with no other user to become."""
    return os.geteuid() != 0 or Path("/proc/self/uid_map").read_text().split()[2] == "1"
