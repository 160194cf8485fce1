"""Run the preLaunch hooks in order and fail closed: nothing starts after a hook that failed.

``LOCKSTEP_PRELAUNCH`` is a JSON list of ``{"name": ..., "command": [...]}``, or absent.
"""

import json
import os
import signal
import subprocess
import sys
import time


def say(text: str) -> None:
    """Write one line to the container's log."""
    sys.stderr.write(f"lockstep: {text}\n")


def run(command: list[str]) -> int:
    """Return the exit code of a command; TERM on this process reaches it."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as hook:

        def stop(number: int, _frame: object) -> None:
            hook.send_signal(number)

        signal.signal(signal.SIGTERM, stop)
        return hook.wait()


def main() -> None:
    """Run them all; end with the name and the exit code of the first that fails."""
    hooks = json.loads(os.environ.get("LOCKSTEP_PRELAUNCH") or "[]")
    for number, hook in enumerate(hooks, start=1):
        title = f"preLaunch hook {hook['name']!r} ({number} of {len(hooks)})"
        say(f"{title} starts")
        began = time.monotonic()
        try:
            code = run(hook["command"])
        except OSError as error:
            say(f"{title} cannot run: {error}. The engine is not started.")
            sys.exit(127)
        if code:
            how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
            say(f"{title} failed with {how}. The engine is not started.")
            sys.exit(code if code > 0 else 128 - code)
        say(f"{title} done in {time.monotonic() - began:.1f} s")


main()
