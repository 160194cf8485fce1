"""Faults by script: parsed here, done to the pods of a controller by ``Faults.run``."""

from __future__ import annotations

import asyncio
import copy
import re
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from lockstep.errors import LockstepError, UsageError
from lockstep.rehearse import processes, tree
from lockstep.rehearse.engine import CONTROL, contract

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lockstep.rehearse.controller import Controller
    from lockstep.rehearse.kubelet import Kubelet
    from lockstep.rehearse.manifest import Group

# kind: what it does; * needs network namespaces, + only the stand-in can.
KINDS = {
    "kill": "SIGKILL",
    "term": "SIGTERM to process 1 of the container, as kubelet sends it",
    "stop": "SIGSTOP, and SIGCONT after `for` seconds",
    "hang": "SIGSTOP to the engine's worker processes only, for good: its HTTP goes on answering",
    "exit": "the engine ends by itself with `code` (stand-in only)",
    "cut": "the pod's network to the other pods is cut, for `for` seconds (namespaces only)",
    "replace": "the pod is deleted from outside; a new one has a new uid and address",
    "delay": "the pod's container starts `for` seconds later (from the start)",
    "slow-load": "the engine of this pod loads `for` seconds longer (from the start; stand-in only)",
    "change-config": "the launch ConfigMap gets a line more under the running pod",
}
TAKEN = 5.0  # seconds that a stand-in may take to hear an order
FROM_START = ("delay", "slow-load")
WHAT = ("engine", "supervisor", "container")
TARGET = re.compile(r"(leader|worker(?:-(\d+))?)(?:@(start\+)?(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Fault:
    """One entry of the script.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    rank : int
        Whom it hits.
    at : float
        Seconds after the group was first Ready, or after the start.
    from_start : bool
        Which of the two.
    seconds : float, optional
        For kinds that last; None is for good.
    code : int
        Of ``exit``.
    what : str
        Whom ``kill`` and ``stop`` signal: one of ``WHAT``.
    """

    kind: str
    rank: int
    at: float = 0.0
    from_start: bool = False
    seconds: float | None = None
    code: int = 1
    what: str = "engine"

    def __str__(self) -> str:
        """Return it as it is typed."""
        role = "leader" if self.rank == 0 else f"worker-{self.rank}"
        when = "" if self.kind in FROM_START else f"@{'start+' * self.from_start}{self.at:g}"
        words = [f"{self.kind} {role}{when}"]
        words += [f"for={self.seconds:g}"] if self.seconds is not None else []
        words += [f"code={self.code}"] if self.kind == "exit" else []
        words += [f"what={self.what}"] if self.what != "engine" else []
        return " ".join(words)

    @property
    def ends_container(self) -> bool:
        """Whether the container or the pod ends by it for sure, at once or after a drain."""
        return self.kind in ("term", "replace") or (self.kind == "kill" and self.what != "engine")


def parse_fault(text: str) -> Fault:
    """Read ``KIND ROLE[-INDEX][@SECONDS] [key=value ...]``.

    Raises
    ------
    UsageError
        Saying what of it cannot be read.
    """
    kind, _, rest = text.strip().partition(" ")
    target, *options = rest.split() or [""]
    given: dict[str, object] = {"kind": kind, "target": target}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise UsageError(f"fault {text!r}: {option!r} is no key=value")
        given[key] = value
    return _fault(given, text)


def parse_kill(text: str) -> Fault:
    """Read ``ROLE[-INDEX]@SECONDS``: a SIGKILL to the engine of that rank."""
    return _fault({"kind": "kill", "target": text}, text)


def read_faults(path: Path) -> list[Fault]:
    """Read a YAML file: a list of ``{kind, target, for, code, what}``.

    Raises
    ------
    UsageError
        When it is missing or is not such a list.
    """
    try:
        found = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UsageError(f"{path}: a list of faults is expected, each with kind and target")
    return [_fault({str(key): value for key, value in each.items()}, f"{path}: {each}") for each in found]


def _fault(given: dict[str, object], text: str) -> Fault:
    unknown = set(given) - {"kind", "target", "for", "code", "what"}
    if unknown:
        raise UsageError(f"fault {text!r}: unknown {', '.join(sorted(unknown))}; there are: for, code, what")
    kind, what = str(given.get("kind")), str(given.get("what", "engine"))
    if kind not in KINDS:
        raise UsageError(f"fault {text!r}: unknown kind {kind!r}; there are: {', '.join(KINDS)}")
    if what not in WHAT:
        raise UsageError(f"fault {text!r}: what={what}; there are: {', '.join(WHAT)}")
    target = TARGET.fullmatch(str(given.get("target")))
    if not target or (target[4] is None and kind not in FROM_START):
        raise UsageError(
            f"fault {text!r}: ROLE[-INDEX]@SECONDS is expected, like worker@5, leader@0.5 or worker-2@start+3"
        )
    try:
        seconds = float(str(given["for"])) if "for" in given else None
        code = int(str(given.get("code", 1)))
    except ValueError:
        raise UsageError(f"fault {text!r}: for and code are numbers") from None
    if seconds is None and kind in FROM_START:
        raise UsageError(f"fault {text!r}: for=SECONDS is missing")
    rank = 0 if target[1] == "leader" else int(target[2] or 1)
    if target[1] != "leader" and rank == 0:
        raise UsageError(f"fault {text!r}: workers count from 1; rank 0 is the leader")
    return Fault(kind, rank, float(target[4] or 0), bool(target[3]), seconds, code, what)


def check(faults: Iterable[Fault], group: Group, *, namespaces: bool, standin: bool) -> None:
    """Refuse what this rehearsal cannot do, before anything is started.

    Raises
    ------
    UsageError
        For a rank that the group does not have, a cut on loopback, an exit of the real engine.
    """
    for fault in faults:
        if fault.rank >= group.size:
            raise UsageError(f"fault {str(fault)!r}: the group has ranks 0 to {group.size - 1}")
        if fault.kind == "cut" and not namespaces:
            raise UsageError(f"fault {str(fault)!r}: a cut needs network namespaces, which are not to be had here")
        if fault.kind in ("exit", "slow-load") and not standin:
            raise UsageError(f"fault {str(fault)!r}: only the stand-in engine can do that")
        if fault.kind == "exit" and fault.rank and _placed_by_leader(group):
            raise UsageError(f"fault {str(fault)!r}: the leader's engine places the ranks of that node; use kill")


def _placed_by_leader(group: Group) -> bool:
    """Return whether a worker's node has no engine command of its own: only Ray, or an ssh server."""
    given = contract(group)
    return given.get("LOCKSTEP_ENGINE") == "trtllm" or given.get("LOCKSTEP_EXECUTOR") == "ray"


async def inject(fault: Fault, controller: Controller) -> None:
    """Do it, and undo it when it lasts only some time."""
    pod = controller.pods[fault.rank]
    controller.timeline.add("fault", str(fault), rank=fault.rank, pod=pod.pod.name)
    if fault.kind == "replace":
        await controller.replace(fault.rank, "fault")
    elif fault.kind == "cut":
        pod.place.cut(off=True)
        await _undo(fault, controller, lambda: pod.place.cut(off=False))
    elif fault.kind == "change-config":
        _change_config(controller, pod)
    elif fault.kind == "exit":
        await _tell(pod.folder / CONTROL, f"exit {fault.code}\n")
    elif fault.kind == "term":
        if pod.container is not None:
            pod.container.signal(signal.SIGTERM)
    else:
        targets = _targets(fault, pod)
        if not targets:
            raise LockstepError(f"fault {str(fault)!r}: {pod.pod.name} has no {fault.what} process at that moment")
        processes.send(targets, signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
        if fault.kind == "stop":
            await _undo(fault, controller, lambda: processes.send(targets, signal.SIGCONT))


def _targets(fault: Fault, pod: Kubelet) -> set[int]:
    container = pod.container
    if container is None:
        return set()
    if fault.what == "container":
        return container.processes()
    if fault.what == "supervisor":
        return {container.first}
    engine = container.engine()
    return processes.leaves(engine) if fault.kind == "hang" else engine


async def _tell(control: Path, order: str) -> None:
    """Write an order to the stand-in, and wait until it was taken: who asks before would still be served."""
    control.write_text(order)
    until = time.monotonic() + TAKEN
    while control.exists() and time.monotonic() < until:
        await asyncio.sleep(0.02)


async def _undo(fault: Fault, controller: Controller, undo: object) -> None:
    if fault.seconds is None or not callable(undo):
        return
    await asyncio.sleep(fault.seconds)
    undo()
    controller.timeline.add("fault", f"{fault.kind} of rank {fault.rank} is over", rank=fault.rank)


def _change_config(controller: Controller, pod: Kubelet) -> None:
    group = copy.deepcopy(controller.group)
    for each in group.objects:
        if each.get("kind") == "ConfigMap":
            data = tree.mapping(each, "data")
            data.update({key: f"{value}\n# changed under a running pod\n" for key, value in data.items()})
    pod.volumes.refresh(group)
