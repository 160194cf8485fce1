"""Gather the nodes of an MPI job: ``gather.py SLOTS`` prints ``address:SLOTS`` of every rank, in their order.

Each node says its rank and address on the master port as soon as its ssh server answers. That is no secret and proves
nothing: the keys of ssh do.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time


def say(text: str) -> None:
    """Write one line to the container's log."""
    sys.stderr.write(f"lockstep: {text}\n")


def hear(connection: socket.socket, group: str, nodes: int) -> tuple[int, str] | None:
    """Return the rank and the address that a node says, or nothing when it only knocks.

    Raises
    ------
    ValueError
        If it says nothing sensible.
    OSError
        If it says nothing at all.
    """
    connection.settimeout(5)
    line = connection.makefile().readline(500)
    if not line:
        return None
    said = json.loads(line)
    if not isinstance(said, dict) or said.get("group") != group:
        raise ValueError("another group")
    rank, address = said.get("rank"), said.get("address")
    if not isinstance(rank, int) or not 0 < rank < nodes or not isinstance(address, str):
        raise ValueError("no such rank")
    socket.inet_aton(address)
    return rank, address


def next_node(server: socket.socket, group: str, nodes: int) -> tuple[int, str] | None:
    """Return the next node that introduces itself within a second."""
    try:
        connection, _ = server.accept()
    except socket.timeout:  # noqa: UP041 - its name before Python 3.10
        return None
    with connection:
        try:
            found = hear(connection, group, nodes)
            if found:
                connection.sendall(b"welcome\n")
        except (OSError, ValueError) as error:
            say(f"a connection to the master port is no node of this group: {error}")
            return None
        return found


def gather(server: socket.socket, group: str, found: dict[int, str], nodes: int, limit: float) -> None:
    """Add every rank to those found, or end with an error when the time is over."""
    server.settimeout(1)
    began, told = time.monotonic(), -10.0
    while len(found) < nodes:
        waited = time.monotonic() - began
        missing = ", ".join(str(rank) for rank in range(nodes) if rank not in found)
        state = f"{len(found)} of {nodes} MPI nodes are there, missing are the ranks {missing}"
        if waited > limit:
            say(f"{state}, after {limit:g} s (startup.seconds)")
            sys.exit(1)
        if waited - told >= 10:
            say(f"waiting for MPI nodes: {state}")
            told = waited
        node = next_node(server, group, nodes)
        if node:
            found[node[0]] = node[1]


def main(slots: str) -> None:
    """Wait for all of them, at most as long as a start may last."""
    nodes, limit = int(os.environ["LOCKSTEP_NODE_COUNT"]), float(os.environ["LOCKSTEP_STARTUP_SECONDS"])
    found = {0: os.environ["LOCKSTEP_POD_IP"]}
    with socket.create_server((found[0], int(os.environ["LOCKSTEP_MASTER_PORT"]))) as server:
        gather(server, os.environ["LOCKSTEP_GROUP"], found, nodes, limit)
    sys.stdout.write(",".join(f"{found[rank]}:{slots}" for rank in range(nodes)) + "\n")


main(sys.argv[1])
