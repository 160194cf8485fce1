"""What no signal can ask for: a file that a test writes while the engine runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path


class Control:
    """Looks into the file of ``STANDIN_CONTROL``; without one it does nothing."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None

    @property
    def watching(self) -> bool:
        """Whether there is a file to look into."""
        return self._path is not None

    def obey(self) -> None:
        """End this process and its children with the code of ``exit CODE``, once."""
        if self._path is None or not self._path.exists():
            return
        words = self._path.read_text().split()
        if len(words) != 2 or words[0] != "exit":
            return
        self._path.unlink()
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        os._exit(int(words[1]))
