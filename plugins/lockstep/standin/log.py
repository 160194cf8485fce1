"""Log lines in the engine's own look, so that what greps the one also greps the other."""

from __future__ import annotations

import os
import sys
import time


def say(part: str, text: str, level: str = "INFO") -> None:
    """Write one line: level, time, the part of the engine that speaks, the text."""
    moment = time.strftime("%m-%d %H:%M:%S")
    sys.stdout.write(f"({part} pid={os.getpid()}) {level} {moment} [stand-in] {text}\n")
    sys.stdout.flush()
