"""``vllm serve --headless``: a node without HTTP, whose parent process only waits for its workers.

A further node without that flag waits as silently, and fails once all ranks are there.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from lockstep.standin.control import Control
from lockstep.standin.log import say
from lockstep.standin.vllm import behaviour
from lockstep.standin.worker import Workers

if TYPE_CHECKING:
    import argparse

    from lockstep.standin.layout import Layout
    from lockstep.standin.settings import Settings


def run_headless(arguments: argparse.Namespace, layout: Layout, chosen: Settings) -> int:
    """Start this node's workers and wait: for TERM, or for one of them to end."""
    if layout.first == 0:
        say(
            "headless",
            f"Launching {layout.world // layout.tensor // layout.pipeline or 1} data parallel engine(s) in headless "
            "mode, with head node address tcp://127.0.0.1:29550",
        )
        return _wait_without_a_word(chosen)
    timeout = getattr(arguments, "distributed_timeout_seconds", None) or behaviour.RENDEZVOUS_TIMEOUT
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes the sleep below
    workers = Workers(layout, chosen, float(timeout))
    control = Control(chosen.control)
    say("headless", f"ranks {[*layout.ranks]} of {layout.world} wait for {layout.master}")
    born_of = os.getppid()
    orphaned_at = None
    while not asked:
        control.obey()
        if not arguments.headless and workers.ready():
            say("APIServer", "AssertionError: collective_rpc should not be called on follower node", "ERROR")
            workers.stop(0)
            return 1
        lost = workers.lost()
        if lost is not None:
            say("headless", f"{layout.name(lost)} proc died unexpectedly, shutting down executor.", "ERROR")
            workers.stop(0)
            return 1
        if os.getppid() != born_of:
            orphaned_at = orphaned_at or time.monotonic()
            if time.monotonic() - orphaned_at > chosen.orphan_seconds:
                break
        time.sleep(0.2)
    # Living workers end at once; one whose leader is gone hears nothing until it is killed.
    workers.stop(behaviour.ORPHAN_STOP * chosen.scale)
    return 0


def _wait_without_a_word(chosen: Settings) -> int:
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    deadline = time.monotonic() + chosen.orphan_seconds
    while not asked and time.monotonic() < deadline:
        time.sleep(0.2)
    return 0
