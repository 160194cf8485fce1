"""What `make demo` shows: a right layout checked, a wrong one refused, and the right one rehearsed to a completion."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

LOCKSTEP = Path(sys.executable).with_name("lockstep")

WRONG = """\
model: {id: deepseek-ai/DeepSeek-R1}
engine: {name: vllm}
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 8}
parallelism: {tensor: 6, pipeline: 2}
"""


def say(text: str) -> None:
    """Print a heading of the demo."""
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def lockstep(*arguments: str | Path, expect: int = 0) -> None:
    """Show a command as a person would type it, run it, and stop the demo when it ends otherwise than expected."""
    words = [str(argument) for argument in arguments]
    print(f"$ lockstep {' '.join(words)}", flush=True)
    code = subprocess.run([LOCKSTEP, *words], check=False).returncode
    if code != expect:
        sys.exit(f"demo: `lockstep {' '.join(words)}` ended with {code}, expected {expect}")


def main(example: Path) -> None:
    """Run the demo on one values file."""
    say(f"Ten lines: one model over several 8-GPU nodes ({example})")
    print(example.read_text(), end="")

    say("Can this layout work? Asked before anything is applied")
    lockstep("check", example)

    say("A wrong one: tensor 6 does not fill nodes of 8 GPUs")
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "wrong.yaml"
        wrong.write_text(WRONG)
        lockstep("check", wrong, expect=1)

    say("Rehearsal: the rendered pods of this group, as processes on this machine")
    print("The launch scripts and the supervisor are the ones the cluster runs. The engine is a STAND-IN: it speaks")
    print("vLLM's flags and protocol and forms the same rendezvous, but it loads no model and its answers are made up.")
    lockstep("rehearse", example)

    say("Next")
    print(f"  .venv/bin/lockstep rehearse {example} --kill worker@5   # lose a rank and watch the group come back")
    print(f"  .venv/bin/lockstep render {example}                     # the objects that Helm and Argo CD apply")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
