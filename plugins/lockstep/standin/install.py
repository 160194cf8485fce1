"""Put the stand-in where a launch script finds it: as the first ``vllm`` on PATH."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2]

PROGRAM = "import sys; sys.path.insert(0, {packages!r}); from lockstep.standin.__main__ import main; " + (
    "sys.exit(main(sys.argv[1:]))"
)


def install(folder: Path, python: str = sys.executable) -> Path:
    """Write ``folder/vllm``.

    Parameters
    ----------
    folder : Path
        Made when missing; goes first on the PATH of whoever starts the engine.
    python : str
        The interpreter that runs it. It needs nothing but the standard library.

    Returns
    -------
    Path
        The command.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "vllm"
    program = PROGRAM.format(packages=str(PACKAGES))
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -S -c {shlex.quote(program)} "$@"\n')
    command.chmod(0o755)
    return command
