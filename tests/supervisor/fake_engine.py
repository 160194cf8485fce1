"""A small engine for the supervisor's tests: gathers its ranks, serves, and fails as it is told to.

Rank 0 listens on the master port until every rank has come, as real engines do, and only then serves
HTTP. The others connect to it and stay. All of them hold a lock per rank for as long as they live: two
engines of one rank, or of two incarnations, are written down as a violation.

Files in ``$FAKE_CONTROL`` steer it: ``hang`` (nothing moves, health says 200), ``unhealthy``, ``busy``
(requests wait, tokens flow), ``full`` (as busy, and completions never return), ``prefill`` (completions
never return, the cache fills), ``unaskable`` (no completions), ``broken`` (completions fail), ``slow``
(one second a completion), ``blind`` (shows no metrics of its own), ``stubborn`` (ignores TERM), ``quit``
(ends with code 0), ``never`` (never serves), ``litter`` (leaves shared memory behind when killed).
"""

from __future__ import annotations

import _multiprocessing
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path

RANK = int(os.environ["LOCKSTEP_NODE_RANK"])
COUNT = int(os.environ["LOCKSTEP_NODE_COUNT"])
CONTROL = Path(os.environ["FAKE_CONTROL"])
JOURNAL = Path(os.environ["FAKE_JOURNAL"])
INCARNATION = os.environ["LOCKSTEP_INCARNATION"]
STARTED = time.monotonic()
running = 0
tokens = 0


def told(word: str) -> bool:
    """Return whether the test asked for it."""
    return (CONTROL / word).exists()


def journal(text: str) -> None:
    """Write a line that all engines of the group share."""
    with JOURNAL.open("a") as file:
        file.write(f"{time.monotonic():.3f} rank={RANK} incarnation={INCARNATION} {text}\n")


def litter() -> object:
    """Make what engines make in /dev/shm, and write down the names: a segment, a semaphore, files of libraries."""
    segment = shared_memory.SharedMemory(create=True, size=4096)
    resource_tracker.unregister(f"/{segment.name}", "shared_memory")  # it would tidy up, were it not killed too
    name = f"mp-{uuid.uuid4().hex[:8]}"
    semaphore = _multiprocessing.SemLock(1, 1, 1, f"/{name}", False)
    files = [Path("/dev/shm", f"{maker}{uuid.uuid4().hex[:8]}") for maker in ("nccl-", "torch_")]
    held = [file.open("xb") for file in files]  # as their makers do; groups side by side share /dev/shm here
    for file in held:
        file.write(bytes(4096))
    with (CONTROL / "litter").open("a") as names:
        names.write("\n".join([segment.name, f"sem.{name}", *(file.name for file in files), ""]))
    return segment, semaphore, held


def hold_rank() -> object:
    """Lock this rank for the life of this process."""
    file = (JOURNAL.parent / f"rank-{RANK}.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        journal("VIOLATION two engines of one rank")
    return file


class Pages(BaseHTTPRequestHandler):
    """The HTTP side."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def reply(self, status: int, body: str) -> None:
        """Answer at once."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        """Health and metrics."""
        if self.path == "/health":
            self.reply(503 if told("unhealthy") else 200, "")
        elif told("blind"):
            self.reply(200, "process_cpu_seconds_total 1\n")
        elif told("busy") or told("full"):
            self.reply(200, f"fake:tokens_total {time.monotonic()}\nfake:running 8\nfake:waiting 3\n")
        elif told("prefill"):
            moving = time.monotonic()
            self.reply(200, f"fake:tokens_total {tokens}\nfake:cache {moving}\nfake:running 1\nfake:waiting 0\n")
        else:
            shown = 0 if told("hang") else running
            self.reply(200, f"fake:tokens_total {tokens}\nfake:cache 0.5\nfake:running {shown}\nfake:waiting 0\n")

    def do_POST(self) -> None:
        """Completions: streamed if asked for."""
        global running, tokens
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if told("unaskable"):
            self.reply(404, "")
            return
        if told("broken"):
            self.reply(500, "")
            return
        running += 1
        try:
            while told("hang") or told("full") or told("prefill"):
                time.sleep(0.02)
            if told("slow"):
                time.sleep(1)
            if not asked.get("stream"):
                tokens += 1
                self.reply(200, json.dumps({"choices": [{"text": "1"}]}))
                return
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(asked["max_tokens"]):
                self.wfile.write(f"data: {number}\n\n".encode())
                tokens += 1
                time.sleep(asked.get("delay", 0.05))
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True
        finally:
            running -= 1


class Server(ThreadingHTTPServer):
    """Serves each client in a thread, and says nothing of those that hang up."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Show what went wrong, except that a client went away."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def gather() -> list[socket.socket]:
    """Wait until every other rank has come."""
    server = socket.create_server((os.environ["LOCKSTEP_POD_IP"], int(os.environ["LOCKSTEP_MASTER_PORT"])))
    here: dict[int, socket.socket] = {}
    while len(here) < COUNT - 1:
        connection, _ = server.accept()
        if not (said := connection.recv(200).decode().split()):
            continue
        rank, incarnation = said
        connection.sendall(b"welcome")
        if incarnation != INCARNATION:
            journal(f"VIOLATION rank {rank} of incarnation {incarnation} came")
        here[int(rank)] = connection
    server.close()
    return list(here.values())


def join() -> socket.socket:
    """Connect to rank 0's engine, as often as it takes."""
    address = (os.environ["FAKE_LEADER"], int(os.environ["LOCKSTEP_MASTER_PORT"]))
    while True:
        with contextlib.suppress(OSError):
            connection = socket.create_connection(address, timeout=1)
            connection.sendall(f"{RANK} {INCARNATION}".encode())
            if connection.recv(10):
                return connection
        time.sleep(0.05)


def main() -> None:
    """Run until killed."""
    lock = hold_rank()
    left = litter() if told("litter") else None
    journal(f"start pid={os.getpid()}")
    if told("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # A grandchild in a session of its own: the kind of process that gets forgotten.
    forgotten = "import time; time.sleep(3600)"
    subprocess.Popen([sys.executable, "-S", "-c", forgotten], start_new_session=True)
    peers: object = None
    if RANK == 0:
        peers = gather()
        if not told("never"):
            server = Server((os.environ["LOCKSTEP_POD_IP"], int(os.environ["LOCKSTEP_PORT"])), Pages)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            journal("serves")
    else:
        peers = join()
    while not told("quit"):
        time.sleep(0.02)
    journal("quits")
    del peers, lock, left
    os._exit(0)


main()
