"""Run kubectl, for reading alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.errors import LockstepError, UsageError

if TYPE_CHECKING:
    from lockstep.rehearse.tree import Node

_PATIENCE: Final = 30  # seconds for one answer


class RefusedError(LockstepError):
    """The cluster answered that something may not be read, or that it has no such kind."""


@dataclass(frozen=True)
class Kubectl:
    """A kubectl and the cluster that it speaks to.

    Parameters
    ----------
    program : Path
        The program.
    context : str or None
        A context of its configuration; the current one by default.
    """

    program: Path
    context: str | None = None

    def table(self, command: str) -> list[list[str]]:
        """Give the columns that ``api-resources`` or ``api-versions`` prints.

        Raises
        ------
        UsageError
            If the cluster cannot be reached.
        RefusedError
            If it does not answer this.
        """
        headless = ["--no-headers"] if command == "api-resources" else []
        return [line.split() for line in self._run([command, *headless]).splitlines() if line.strip()]

    def get(self, kind: str, namespace: str | None = None) -> list[Node]:
        """Give the objects of a kind, in one namespace or in all.

        Raises
        ------
        UsageError
            If the cluster cannot be reached.
        RefusedError
            If they may not be read, or there is no such kind.
        """
        where = ["--all-namespaces"] if namespace is None else ["--namespace", namespace]
        answer = json.loads(self._run(["get", kind, *where, "--output", "json"]))
        found = answer.get("items", []) if isinstance(answer, dict) else []
        return [item for item in found if isinstance(item, dict)]

    def _run(self, words: list[str]) -> str:
        done = self._call(words)
        said = done.stderr.strip().splitlines()
        if done.returncode and ("Forbidden" in done.stderr or "doesn't have a resource type" in done.stderr):
            raise RefusedError(said[-1])
        if done.returncode and not done.stdout.strip():
            raise UsageError(f"kubectl {' '.join(words)}: {said[-1] if said else f'ended with {done.returncode}'}")
        return done.stdout

    def _call(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        chosen = ["--context", self.context] if self.context else []
        try:
            return subprocess.run(
                [self.program, *chosen, f"--request-timeout={_PATIENCE}s", *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=_PATIENCE + 10,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"kubectl {' '.join(words)} did not answer within {_PATIENCE + 10} s") from None
        except OSError as error:
            raise UsageError(f"{self.program} cannot be started ({error.strerror})") from None


def find(context: str | None) -> Kubectl:
    """Find kubectl: on PATH, else beside the running Python.

    Raises
    ------
    UsageError
        If there is none.
    """
    beside = str(Path(sys.executable).parent)
    found = shutil.which("kubectl") or shutil.which("kubectl", path=beside)
    if found is None:
        raise UsageError(f"--live needs kubectl, which is neither on PATH nor in {beside}")
    return Kubectl(Path(found), context)
