"""Longer runs than CI has time for.

python -m tests.supervisor.soak model RANKS FAULTS            every order of events
python -m tests.supervisor.soak faults --steps 500 --seed 7   random faults on real processes
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "charts" / "serving" / "files" / "launch"))

from .pods import Group
from .schedule import Schedule
from .world import explore


def main() -> None:
    """Run, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    model = kinds.add_parser("model")
    model.add_argument("ranks", type=int)
    model.add_argument("faults", type=int)
    faults = kinds.add_parser("faults")
    faults.add_argument("--steps", type=int, default=500)
    faults.add_argument("--seed", type=int, default=1)
    faults.add_argument("--ranks", type=int, default=2)
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.kind == "model":
        found = f"{explore(asked.ranks, asked.faults)} states of {asked.ranks} ranks with {asked.faults} faults"
    else:
        with tempfile.TemporaryDirectory() as folder:
            group = Group(Path(folder), asked.ranks, deadline=1.5).linked()
            group.timers.update(LOCKSTEP_MAX_RESTARTS="100000", LOCKSTEP_STARTUP_SECONDS="20")
            try:
                group.start().wait_serving()
                Schedule(group, asked.seed).run(asked.steps)
            finally:
                group.close()
        found = f"{asked.steps} steps of seed {asked.seed} on {asked.ranks} ranks"
    sys.stdout.write(f"{found}: no rule broken, {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main()
