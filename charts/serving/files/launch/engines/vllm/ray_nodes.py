"""Wait until a Ray cluster has its nodes: ``ray_nodes.py NODES SECONDS``, the cluster being ``RAY_ADDRESS``."""

import logging
import sys
import time

import ray


def say(text: str) -> None:
    """Write one line to the container's log."""
    sys.stderr.write(f"lockstep: {text}\n")


def main(wanted: int, limit: float) -> None:
    """End when enough nodes are alive, or with an error when the time is over.

    Dead nodes stay in Ray's list, and one that came back is in it twice: only a count of the living that may
    also be exceeded says that all are there.
    """
    ray.init(logging_level=logging.ERROR, log_to_driver=False)
    began = time.monotonic()
    told = -1
    while True:
        alive = sum(node["Alive"] for node in ray.nodes())
        if alive >= wanted:
            return say(f"all {wanted} nodes have joined the Ray cluster")
        if time.monotonic() - began > limit:
            say(f"{alive} of {wanted} nodes joined the Ray cluster in {limit:g} s (startup.seconds)")
            sys.exit(1)
        if alive != told:
            say(f"waiting for the Ray cluster: {alive} of {wanted} nodes have joined")
            told = alive
        time.sleep(1)


main(int(sys.argv[1]), float(sys.argv[2]))
