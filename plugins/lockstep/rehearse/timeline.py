"""What happened, when, to whom: the one record that terminal, JSON and picture are made from."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Words of ``Event.kind``, in the order in which a pod meets them.
KINDS = (
    "created",  # a pod got its name and address
    "started",  # a container's process runs
    "startup",  # its startup probe succeeded
    "ready",
    "not-ready",
    "probe",  # a probe's answer changed
    "exited",  # a container's process ended
    "backoff",  # kubelet waits before it starts the container again
    "killing",  # kubelet stops a container: a probe, a deletion
    "deleted",
    "log",  # a line of the launch scripts or the supervisor
    "fault",  # what the script of faults did
    "group",  # of the group as a whole: ready, broken, recreated
    "request",  # a completion was asked, answered, failed
    "note",  # what is not imitated here
)


@dataclass(frozen=True)
class Event:
    """One line of the timeline.

    Attributes
    ----------
    at : float
        Seconds since the rehearsal began.
    kind : str
        One of ``KINDS``.
    text : str
        One sentence for a person.
    rank : int, optional
        Of the pod that it is about.
    pod : str
        That pod's name.
    """

    at: float
    kind: str
    text: str
    rank: int | None = None
    pod: str = ""


class Timeline:
    """Collects events, writes each to a file at once and tells whoever listens."""

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self.listeners: list[Callable[[Event], None]] = []
        self._began = time.monotonic()
        self._file = path.open("w", buffering=1)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def now(self) -> float:
        """Return the seconds since the rehearsal began."""
        return time.monotonic() - self._began

    def add(self, kind: str, text: str, *, rank: int | None = None, pod: str = "") -> Event:
        """Record one event."""
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of event")
        event = Event(round(self.now(), 3), kind, text, rank, pod)
        self.events.append(event)
        self._file.write(json.dumps(asdict(event)) + "\n")
        for listener in self.listeners:
            listener(event)
        return event


def read(path: Path) -> list[Event]:
    """Read back what a ``Timeline`` wrote."""
    return [Event(**json.loads(line)) for line in path.read_text().splitlines()]
