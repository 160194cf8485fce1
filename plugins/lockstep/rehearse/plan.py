"""What one rehearsal is to do, and what came of it; both travel as JSON between its two processes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lockstep.rehearse.faults import Fault
from lockstep.rehearse.timeline import Event

if TYPE_CHECKING:
    from pathlib import Path

    from lockstep.rehearse.tree import Node


@dataclass(frozen=True)
class Plan:
    """The question.

    Attributes
    ----------
    objects : list of Node
        The rendered release.
    namespace : str
        Of the release.
    engine : str
        ``standin`` or ``real``.
    network : str
        ``namespaces`` or ``loopback``.
    faults : tuple of Fault
        What goes wrong.
    timeout : float
        Seconds until the group must be Ready, and again after the last fault.
    prompt : str
        Of the completion.
    keep : bool
        Go on serving until Ctrl-C.
    quiet : bool
        Show nothing on the way.
    forward : int, optional
        A listening socket (file descriptor) whose connections go to the Service.
    """

    objects: list[Node]
    namespace: str
    prompt: str
    engine: str = "standin"
    network: str = "namespaces"
    faults: tuple[Fault, ...] = ()
    timeout: float = 300.0
    keep: bool = False
    quiet: bool = False
    forward: int | None = None

    def write(self, path: Path) -> None:
        """Write it to a file."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read it back."""
        found = json.loads(path.read_text())
        return cls(**(found | {"faults": tuple(Fault(**each) for each in found["faults"])}))


@dataclass
class Report:
    """The answer.

    Attributes
    ----------
    ok : bool
        The group became Ready, answered, and did so again after the last fault.
    error : str
        Why not, in one message.
    exit_code : int
        0, 1 when the group failed, 2 when the rehearsal could not be held.
    ready_seconds, answered_seconds : float, optional
        From the start to the group being Ready, and to the first answer.
    answer : str
        Of the first completion.
    recovered_seconds : float, optional
        From the last fault to the next answer.
    """

    engine: str
    network: str
    ok: bool = False
    error: str = ""
    exit_code: int = 1
    ready_seconds: float | None = None
    answered_seconds: float | None = None
    answer: str = ""
    recovered_seconds: float | None = None
    faults: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def to_json(self) -> str:
        """Return the document of ``--json``."""
        return json.dumps({"version": 1, **asdict(self)}, indent=2)

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read back what ``to_json`` gave."""
        found = json.loads(path.read_text())
        del found["version"]
        return cls(**(found | {"events": [Event(**each) for each in found["events"]]}))
