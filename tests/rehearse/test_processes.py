"""Processes are found by what is in their environment, at every moment of their lives."""

from __future__ import annotations

import os
import subprocess
import time

from lockstep.rehearse.processes import MARK, environment, marked


def test_found_while_it_executes() -> None:
    """A process that executes one program after another never drops out of sight, though the kernel blinks."""
    loop = f'export {MARK}=blink/pod/1; [ "$1" = 0 ] || exec bash -c "$0" "$0" $(($1 - 1)); exec sleep 60'
    with subprocess.Popen(["bash", "-c", loop, loop, "60"], env=os.environ | {MARK: "blink/pod/1"}) as process:
        until = time.monotonic() + 0.5
        found = {environment(process.pid).get(MARK)}
        while time.monotonic() < until:
            found.add(environment(process.pid).get(MARK))
        listed = marked("blink")
        process.kill()

    assert {"blink/pod/1"} == found
    assert {process.pid} == listed


def test_no_variables() -> None:
    """A process that has none is seen to have none, at once."""
    with subprocess.Popen(["sleep", "60"], env={}) as process:
        began = time.monotonic()
        variables = environment(process.pid)
        took = time.monotonic() - began
        process.kill()

    assert {} == variables
    assert took < 1
