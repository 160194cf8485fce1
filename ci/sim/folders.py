"""Where the simulated cluster keeps its files: binaries outside the checkout, one folder for each cluster."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

SOURCE = Path(__file__).parent
REPOSITORY = SOURCE.parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockstep" / "sim"
CLUSTERS = CACHE / "clusters"


def program(name: str) -> Path:
    """Find a helper program on PATH or beside this Python, where ``make setup`` puts helm and kubectl.

    Raises
    ------
    SystemExit
        It is in neither place.
    """
    for folder in (None, str(Path(sys.executable).parent), "/usr/local/go/bin"):
        if found := shutil.which(name, path=folder):
            return Path(found)
    sys.exit(f"sim: {name} is needed and is not on PATH")
