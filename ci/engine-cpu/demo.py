"""What `make demo-real` shows: one model over two pods that hold half of it each, with real vLLM, and a rank lost."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from os import environ
from pathlib import Path

from lockstep.rehearse.real_engine import FOLDER, find_installed

LOCKSTEP = Path(sys.executable).with_name("lockstep")
LAYOUT = Path("tests/engine/pp2.yaml")
# A start of two vLLM processes takes about a minute on two idle cores; this is for a busy machine.
PATIENCE = "900"


def say(text: str) -> None:
    """Print a heading of the demo."""
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def main() -> int:
    """Rehearse the layout with the installed engine; return the rehearsal's exit code."""
    engine = find_installed(environ)
    say(f"One model over two nodes, its layers split between them ({LAYOUT})")
    print(LAYOUT.read_text(), end="")

    say("The rendered pods, the real launch scripts, real vLLM")
    print(f"The engine is {engine.folder}. The model is a tiny one with random weights, made by")
    print("ci/engine-cpu/make_model.py: rank 0 loads its layers 0 and 1, rank 1 its layers 2 and 3, and no process has")
    print("all of it. Its words are made up. Soon after the first answer the engine of the worker is killed.")
    print("A start takes about a minute on two idle cores, and there are two.", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.yaml"
        weights.write_text(f"weights: {{path: {engine.model()}}}\n")
        command = ["rehearse", "-f", LAYOUT, "--name", "tiny", "--engine", "real", "--timeout", PATIENCE]
        command += ["--prompt", "badu kile morafa", "--kill", "worker@15", weights]
        words = [str(word) for word in command]
        print(f"$ lockstep {shlex.join(words)}", flush=True)
        environment = {**environ, FOLDER: str(engine.folder)}
        return subprocess.run([LOCKSTEP, *words], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
