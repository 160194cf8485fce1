"""Start a rehearsal so that nothing of it can stay behind, and wait for its report."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError, UsageError
from lockstep.rehearse import janitor, processes
from lockstep.rehearse.plan import Plan, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

# All that a rehearsal makes in the kernel lives in these and ends with their first process.
UNSHARE = ("unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc")
# Is everything there that the pods will need: nested namespaces, a bridge, links, mounts?
TRIAL = (
    "ip link add pods type bridge && ip link add pod0 type veth peer name eth0 && ip link set pod0 master pods && "
    "ip link set pods up && ip link set pod0 up && ip link set eth0 up && bridge link set dev pod0 state 0 && "
    "mount --bind /etc/hosts /etc/hosts && mount -t tmpfs tmpfs /dev/shm && "
    "unshare --net --mount --ipc --uts -- unshare --pid --fork --mount-proc true"
)


def namespaces() -> list[str] | None:
    """Return the command that starts a program in namespaces of its own; None where that is not allowed."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = [UNSHARE[0], *own, *UNSHARE[1:], "--"]
    if not all(shutil.which(each) for each in ("unshare", "nsenter", "ip", "bridge", "mount")):
        return None
    done = subprocess.run([*command, "sh", "-c", TRIAL], capture_output=True, check=False)
    return command if done.returncode == 0 else None


def rehearse(plan: Plan, network: str = "auto") -> Report:
    """Hold a rehearsal in processes of its own.

    Parameters
    ----------
    plan : Plan
        What to do; its ``network`` is chosen here.
    network : str
        ``namespaces``, ``loopback``, or ``auto``: namespaces where they are allowed.

    Returns
    -------
    Report
        What came of it.

    Raises
    ------
    UsageError
        When namespaces were asked for and are not allowed.
    LockstepError
        When the rehearsal ended without a report.
    """
    janitor.sweep()
    enter = namespaces() if network != "loopback" else None
    if enter is None and network == "namespaces":
        raise UsageError(
            "network namespaces are not to be had here: they need iproute2 and util-linux, and root or user "
            "namespaces. --network loopback does without (no network faults)."
        )
    plan = replace(plan, network="namespaces" if enter else "loopback")
    with _state() as folder:
        plan.write(folder / "plan.json")
        code = _run([*(enter or []), sys.executable, "-m", "lockstep.rehearse.session", str(folder)], plan, folder)
        report = folder / "report.json"
        if code == errno.ENOSPC and not report.exists():
            raise LockstepError(f"no room in {folder.parent} for the pods' files: set TMPDIR to a folder with more")
        if not report.exists():
            raise LockstepError(f"the rehearsal ended with {code} and without a report")
        return Report.read(report)


@contextmanager
def _state() -> Iterator[Path]:
    """Make a folder that lasts as long as this process lives, and no longer."""
    folder = Path(tempfile.mkdtemp(prefix=janitor.PREFIX))
    held = janitor.hold(folder)
    watch = subprocess.Popen(
        [sys.executable, "-m", "lockstep.rehearse.janitor", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield folder
    finally:
        watch.kill()
        watch.wait()
        janitor.clean(folder)
        os.close(held)


def _run(command: list[str], plan: Plan, folder: Path) -> int:
    """Run the session on a leash: INT and TERM here become lines there."""
    forwarded = () if plan.forward is None else (plan.forward,)
    environment = os.environ | {processes.MARK: str(folder)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, env=environment, pass_fds=forwarded, start_new_session=True
    ) as session:
        leash = session.stdin

        def ask(*_: object) -> None:
            with suppress(OSError, ValueError):
                if leash is not None:
                    leash.write(b"stop\n")
                    leash.flush()

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            return session.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listen(port: int) -> socket.socket:
    """Open the port that leads to the Service; 0 takes a free one.

    Raises
    ------
    UsageError
        When it is in use.
    """
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(f"port {port} on 127.0.0.1: {error.strerror}; give another one with --port") from None
