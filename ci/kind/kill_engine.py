"""Run inside an engine container: kill its engine. Process 1 is the supervisor, and its children are the engine's."""

import os
import signal
from pathlib import Path

for task in Path("/proc/1/task").iterdir():
    for child in (task / "children").read_text().split():
        os.kill(int(child), signal.SIGKILL)
