"""What the container's environment says: the contract of charts/serving, as the supervisor needs it."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from group.membership import Hello, Timing

if TYPE_CHECKING:
    from collections.abc import Mapping

# What all ranks must agree on, beside the engine's arguments and the launch files.
LAYOUT = (
    *("ENGINE", "MODEL", "REVISION", "SERVED_NAME", "GPUS_PER_NODE", "TENSOR", "PIPELINE", "DATA", "CONTEXT"),
    *("MASTER_PORT", "HEARTBEAT_SECONDS", "DEADLINE_SECONDS"),
)


class ContractError(Exception):
    """A variable is missing or wrong; the message names it."""


class Settings(NamedTuple):
    """One rank's part of the contract; durations in seconds."""

    rank: int
    nodes: int
    leader: str
    group: str
    ip: str
    pod: str
    uid: str
    bind: str
    served: str
    token: str
    port: int
    status_port: int
    membership_port: int
    stall: float
    timing: Timing
    arguments: tuple[str, ...]
    folder: Path
    source: Path


def read(environment: Mapping[str, str], arguments: tuple[str, ...], folder: Path) -> Settings:
    """Return the settings.

    Parameters
    ----------
    environment
        The variables.
    arguments
        The engine's.
    folder
        Where this program's own files are.

    Raises
    ------
    ContractError
        If a variable is missing or no number.
    """

    def text(name: str) -> str:
        value = environment.get(f"LOCKSTEP_{name}", "")
        if not value:
            raise ContractError(f"LOCKSTEP_{name} is empty or missing: the stack's template of charts/serving sets it")
        return value

    def number(name: str, least: float = 0) -> float:
        try:
            value = float(text(name))
        except ValueError:
            value = float("nan")
        if not least <= value < float("inf"):
            raise ContractError(f"LOCKSTEP_{name} is {text(name)!r}: a number of at least {least:g} is expected")
        return value

    timing = Timing(
        heartbeat=number("HEARTBEAT_SECONDS", 0.01),
        deadline=number("DEADLINE_SECONDS", 0.01),
        start=number("STARTUP_SECONDS", 1),
        stable=number("STABLE_SECONDS"),
        propagation=number("PROPAGATION_SECONDS"),
        drain=number("DRAIN_SECONDS"),
        max_restarts=int(number("MAX_RESTARTS")),
    )
    if timing.heartbeat * 2 > timing.deadline:
        raise ContractError(
            f"LOCKSTEP_HEARTBEAT_SECONDS is {timing.heartbeat:g} and LOCKSTEP_DEADLINE_SECONDS {timing.deadline:g}: "
            "the deadline must span at least two heartbeats, or one late packet stops the group"
        )
    ip = text("POD_IP")
    return Settings(
        rank=int(number("NODE_RANK")),
        nodes=int(number("NODE_COUNT", 1)),
        leader=text("LEADER_ADDRESS"),
        group=text("GROUP"),
        ip=ip,
        pod=text("POD_NAME"),
        uid=text("POD_UID"),
        bind=environment.get("LOCKSTEP_BIND") or ("::" if ":" in ip else "0.0.0.0"),  # noqa: S104 - probes come from outside
        served=text("SERVED_NAME"),
        token=environment.get("LOCKSTEP_GROUP_TOKEN", ""),
        port=int(number("PORT", 1)),
        status_port=int(number("STATUS_PORT", 1)),
        membership_port=int(number("MEMBERSHIP_PORT", 1)),
        stall=number("STALL_SECONDS", 0.1),
        timing=timing,
        arguments=arguments,
        folder=folder,
        source=Path(environment.get("LOCKSTEP_LAUNCH_DIR") or folder),
    )


def launch_digest(folder: Path) -> str:
    """Return a short name for the bytes of the launch files in a folder, their paths included."""
    digest = hashlib.sha256()
    files: list[Path] = []
    for walked, folders, names in os.walk(folder, followlinks=True):
        # A ConfigMap volume also shows its revisions, in folders whose names begin with two dots.
        folders[:] = [name for name in folders if not name.startswith(("..", "__"))]
        files += [Path(walked) / name for name in names if name.endswith((".py", ".sh"))]
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def layout_digest(environment: Mapping[str, str], arguments: tuple[str, ...]) -> str:
    """Return a short name for the layout and the engine's arguments."""
    said = [environment.get(f"LOCKSTEP_{name}", "") for name in LAYOUT]
    return hashlib.sha256("\0".join([*said, *arguments]).encode()).hexdigest()[:16]


def identity(settings: Settings, environment: Mapping[str, str], version: str) -> Hello:
    """Return who this process is, under a fresh random name."""
    return Hello(
        settings.group,
        settings.rank,
        settings.nodes,
        secrets.token_hex(8),
        settings.pod,
        settings.uid,
        launch_digest(settings.folder),
        layout_digest(environment, settings.arguments),
        version,
    )
