"""Put the stand-in where a launch script finds it: under each engine's own commands, first on PATH."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2]
# Command: the module whose `main` it is.
COMMANDS = {
    "vllm": {"vllm": "vllm.__main__"},
    "sglang": {"sglang": "sglang.__main__"},
    "trtllm": {"trtllm-serve": "trtllm.server", "trtllm-llmapi-launch": "trtllm.launch"},
}
# Imitated where an image's tag is no version.
VERSIONS = {"vllm": "0.32.0", "sglang": "0.5.23", "trtllm": "1.2.1"}
PROGRAM = "import sys; sys.path.append({packages!r}); " + (
    "from lockstep.standin.{module} import main; sys.exit(main(sys.argv[1:]))"
)


def install(folder: Path, python: str = sys.executable, engine: str = "vllm", *, ray: bool = False) -> Path:
    """Write an engine's commands into a folder.

    Parameters
    ----------
    folder : Path
        Made when missing; goes first on the PATH of whoever starts the engine.
    python : str
        The interpreter that runs them. They need nothing but the standard library.
    engine : str
        As in ``engine.name``.
    ray : bool
        It needs the Ray of that interpreter; else its packages are left out, for a quick start.

    Returns
    -------
    Path
        The first of the commands.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in COMMANDS[engine].items():
        program = PROGRAM.format(packages=str(PACKAGES), module=module)
        command = folder / name
        start = [python, *(() if ray else ("-S",)), "-c", program]
        command.write_text(f'#!/bin/sh\nexec {shlex.join(start)} "$@"\n')
        command.chmod(0o755)
    return folder / next(iter(COMMANDS[engine]))
