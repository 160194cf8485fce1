"""Put each deliberate fault of ``mutations.yaml`` into a copy of the chart and see that its test fails.

``python -m tests.cluster.mutate --kubeconfig FILE [WORD]`` against a cluster that runs already; only faults whose
description holds WORD, when one is given.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests.cluster.release import CHART

HERE = Path(__file__).parent


def main() -> int:
    """Run the faults; 1 when one of them was not seen."""
    parser = argparse.ArgumentParser(description="see that the cluster suite finds faults")
    parser.add_argument("--kubeconfig", required=True, type=Path)
    parser.add_argument("word", nargs="?", default="")
    arguments = parser.parse_args()
    unseen = 0
    for mutation in yaml.safe_load((HERE / "mutations.yaml").read_text()):
        if arguments.word in mutation["fault"]:
            seen = failure(mutation, arguments.kubeconfig)
            unseen += seen is None
            word = "NOT FOUND" if seen is None else "found"
            print(f"{word}: {mutation['fault']} ({mutation['test']})\n    {seen}", flush=True)  # noqa: T201
    return 1 if unseen else 0


def failure(mutation: dict[str, str], kubeconfig: Path) -> str | None:
    """Run the test of a mutation on the spoiled chart: why it failed, or None."""
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder) / "serving"
        shutil.copytree(CHART, chart)
        file = chart / mutation["file"]
        text = file.read_text()
        if text.count(mutation["old"]) != 1:
            sys.exit(f"{mutation['fault']}: {mutation['file']} does not hold the text exactly once: {mutation['old']}")
        file.write_text(text.replace(mutation["old"], mutation["new"]))
        test = [sys.executable, "-m", "pytest", "-q", "-x", str(HERE / mutation["test"])]
        where = ["--cluster-type", "existing", "--kubeconfig", str(kubeconfig), "--chart-path", str(chart)]
        done = subprocess.run([*test, *where], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{mutation['fault']}: pytest could not run:\n{done.stdout}{done.stderr}")
    reasons = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    return (reasons or ["?"])[0] if done.returncode else None


if __name__ == "__main__":
    sys.exit(main())
