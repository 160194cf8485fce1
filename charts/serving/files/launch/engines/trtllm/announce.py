"""Tell the leader of an MPI job that this node takes ssh: ``announce.py LEADER SSH_PORT``."""

import json
import os
import socket
import sys
import time


def say(text: str) -> None:
    """Write one line to the container's log."""
    sys.stderr.write(f"lockstep: {text}\n")


def announce(leader: str, ssh_port: int) -> bool:
    """Whether the leader has taken note."""
    here = os.environ["LOCKSTEP_POD_IP"]
    socket.create_connection((here, ssh_port), timeout=2).close()
    words = {"group": os.environ["LOCKSTEP_GROUP"], "rank": int(os.environ["LOCKSTEP_NODE_RANK"]), "address": here}
    with socket.create_connection((leader, int(os.environ["LOCKSTEP_MASTER_PORT"])), timeout=10) as connection:
        connection.sendall(json.dumps(words).encode() + b"\n")
        return connection.recv(8) == b"welcome\n"


def main(leader: str, ssh_port: int) -> None:
    """Try once a second, at most as long as a start may last."""
    limit, told, began = float(os.environ["LOCKSTEP_STARTUP_SECONDS"]), -10.0, time.monotonic()
    while True:
        try:
            if announce(leader, ssh_port):
                return
            reason = "it did not take note"
        except OSError as error:
            reason = str(error)
        waited = time.monotonic() - began
        if waited > limit:
            say(f"the leader {leader} was not told in {limit:g} s (startup.seconds): {reason}")
            sys.exit(1)
        if waited - told >= 10:
            say(f"waiting to tell the leader {leader} ({waited:.0f} of {limit:g} s): {reason}")
            told = waited
        time.sleep(1)


main(sys.argv[1], int(sys.argv[2]))
