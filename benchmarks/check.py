"""How long `lockstep check` takes, held against `helm template` of the same files in the same run.

``python benchmarks/check.py [FILE] [--files N]``. Both run as processes, as a person or a pre-commit hook runs them;
each measurement is the median of several runs that take turns, so that a busy machine slows both. Wall time is what a
person waits; CPU time (user and system) is what a busy machine distorts least. The second row copies the file: one
check takes all copies, Helm needs a process for each. Python's bytecode is kept from an unmeasured first run, as an
installed package has it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lockstep import helm, share

GOAL_SECONDS = 0.4  # one file
EXAMPLE = "deepseek-r1-16xh100.yaml"


@dataclass(frozen=True)
class Cost:
    """Seconds of one run."""

    wall: float
    cpu: float


def measure(commands: list[list[str | Path]], bytecode: Path, **variables: str) -> Cost:
    """Run commands one after another, with more variables if need be, and return what they cost together."""
    python = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment = os.environ | python | variables
    before, began = os.times(), time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = time.perf_counter() - began, os.times()
    cpu = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Cost(wall, cpu)


def median(costs: list[Cost]) -> Cost:
    """Take the median of wall and CPU time."""
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))


def compare(files: list[Path], runs: int, bytecode: Path) -> tuple[Cost, Cost]:
    """Measure check and Helm in turns on the same files."""
    chart = share.folder("charts") / "serving"
    check: list[str | Path] = [sys.executable, "-m", "lockstep", "check", *files]
    renders: list[list[str | Path]] = [[helm.find(), "template", "demo", chart, "--values", file] for file in files]
    measure([check], bytecode)
    pairs = [(measure([check], bytecode), measure(renders, bytecode)) for _ in range(runs)]
    return median([check for check, _ in pairs]), median([render for _, render in pairs])


def main() -> None:
    """Print one table row for a single file and one for many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=share.folder("values") / "examples" / EXAMPLE)
    parser.add_argument("--files", type=int, default=20, help="copies for the second row (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default: %(default)s)")
    args = parser.parse_args()
    print("files  check wall      cpu   helm wall      cpu  helm / check, wall    cpu")
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(shutil.copy(args.file, Path(folder) / f"copy-{number}.yaml")) for number in range(args.files)]
        for files in ([args.file], copies):
            check, render = compare(files, args.runs, Path(folder) / "bytecode")
            print(
                f"{len(files):>5}  {check.wall:>9.3f}s  {check.cpu:>6.3f}s  {render.wall:>9.3f}s  {render.cpu:>6.3f}s  "
                f"{render.wall / check.wall:>18.2f}  {render.cpu / check.cpu:>5.2f}"
            )
            costs.append(check)
    if costs[0].cpu > GOAL_SECONDS:
        sys.exit(f"one check took {costs[0].cpu:.3f} s of CPU, the goal is {GOAL_SECONDS} s")


if __name__ == "__main__":
    main()
