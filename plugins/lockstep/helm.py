"""Find and run Helm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.errors import RenderError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINT: Final = "Use --debug flag to render out invalid YAML"

# A render lives for a tenth of a second. Go's collector, left alone, takes a fifth of that to give back what the end of
# the process gives back anyway.
ENVIRONMENT: Final = {"GOGC": "400"}


def find() -> Path:
    """Find the helm program: on PATH, else beside the running Python (where ``make setup`` puts it).

    As a plug-in of Helm, it is the Helm that started this process.

    Returns
    -------
    Path
        The program.

    Raises
    ------
    UsageError
        If there is none.
    """
    beside = str(Path(sys.executable).parent)
    found = shutil.which(os.environ.get("HELM_BIN") or "helm") or shutil.which("helm", path=beside)
    if found is None:
        raise UsageError(
            f"helm was found neither on PATH nor in {beside}. In a clone of Lockstep `make setup` installs it on "
            "linux/amd64; elsewhere see https://helm.sh/docs/intro/install/"
        )
    return Path(found)


def run(arguments: Sequence[str | os.PathLike[str]]) -> str:
    """Run Helm.

    Parameters
    ----------
    arguments : sequence of str or path
        What follows ``helm``.

    Returns
    -------
    str
        What it printed.

    Raises
    ------
    UsageError
        If Helm is not there or cannot be started.
    RenderError
        If Helm failed; the message is Helm's own, less its hint at an option that Lockstep has not.
    """
    helm = find()
    try:
        done = subprocess.run(
            [helm, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=ENVIRONMENT | os.environ,
        )
    except OSError as error:
        raise UsageError(f"{helm} cannot be started ({error.strerror})") from None
    if done.returncode:
        raise RenderError(done.stderr.replace(_HINT, "").strip() or f"helm ended with {done.returncode}")
    return done.stdout
