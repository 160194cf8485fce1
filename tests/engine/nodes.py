"""Engines as bare commands on two nodes that are two loopback addresses: no launch script, no supervisor."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HTTP_PORT = 8100
# A /dev/shm of the node's own, as a pod has one: whoever cleans up the machine's may not see that it is in use.
OWN_SHARED_MEMORY = ["unshare", "--mount", "--", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]


@dataclass(frozen=True)
class Engine:
    """What is asked.

    Attributes
    ----------
    name : str
        ``real`` or ``standin``.
    environment : Mapping
        Variables on top of this process's own; PATH finds its ``vllm``.
    model : Path
        Folder of the model.
    scale : float
        What a second of the transcript lasts: 1 for the real engine, less where its times are shortened.
    start : float
        Seconds that a start may take.
    silence : float
        Seconds without a byte, after which a client calls it silent.
    """

    name: str
    environment: Mapping[str, str]
    model: Path
    scale: float
    start: float
    silence: float


@dataclass
class Stream:
    """A streaming completion, read by a thread."""

    silence: float
    state: str = "going"
    chunks: int = 0
    at: float = field(default_factory=time.monotonic)

    def seen(self) -> str:
        """Return ``complete``, ``error``, ``cut``, an HTTP status, or while it is open ``going`` or ``silent``."""
        if self.state == "going" and time.monotonic() - self.at > self.silence:
            return "silent"
        return self.state


class Pair:
    """A group of one model over one or two nodes; node 0 is the leader."""

    def __init__(self, engine: Engine, folder: Path, network: int, env: Mapping[str, str], nodes: int = 2) -> None:
        self.engine, self.nodes = engine, nodes
        self.addresses = [f"127.0.{network}.{node + 1}" for node in range(nodes)]
        self.streams: dict[str, Stream] = {}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self._folder, self._env = folder, env
        with socket.socket() as probe:  # torch binds it on all addresses: take one that nobody has
            probe.bind(("", 0))
            self.master = probe.getsockname()[1]

    def command(self, node: int, flags: Sequence[str] = ()) -> list[str]:
        """Return the command of one node, half of the model on each."""
        own = ["--host", self.addresses[0], "--port", str(HTTP_PORT)] if node == 0 else ["--headless"]
        if self.nodes > 1:
            own += ["--pipeline-parallel-size", "2", "--distributed-executor-backend", "mp", "--nnodes", "2"]
            own += ["--node-rank", str(node), "--master-addr", self.addresses[0], "--master-port", str(self.master)]
        plain = ["--served-model-name", "tiny", "--max-model-len", "1024", "-cc.mode=2", "-cc.backend=eager"]
        return ["vllm", "serve", str(self.engine.model), *plain, *own, *flags]

    def start(self, node: int, flags: Sequence[str] = ()) -> None:
        """Start one node; its output goes to a file of the test's folder."""
        address = self.addresses[node]
        environment = {**os.environ, **self.engine.environment, "VLLM_HOST_IP": address, "GLOO_SOCKET_IFNAME": "lo"}
        with (self._folder / f"node-{node}.log").open("wb") as log:
            own = OWN_SHARED_MEMORY if self.engine.name == "real" and os.geteuid() == 0 else []
            self.processes[node] = subprocess.Popen(
                [*own, *self.command(node, flags)],
                env={**environment, **self._env},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self, node: int) -> str:
        """Return what a node has written so far."""
        return (self._folder / f"node-{node}.log").read_text(errors="replace")

    def send(self, node: int, name: str, to: str) -> None:
        """Send a signal to a node's first process, to its whole ``tree``, or to its ``worker`` alone."""
        first = self.processes[node].pid
        number = signal.Signals[f"SIG{name}"]
        if to == "first":
            os.kill(first, number)
        for pid in {"tree": family(first), "worker": leaves(first)}.get(to, ()):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def process(self, node: int) -> str:
        """Return ``running``, ``exit 0``, or the signal that ended the node's first process."""
        code = self.processes[node].poll()
        if code is None:
            return "running"
        return f"exit {code}" if code >= 0 else signal.Signals(-code).name

    def ended(self) -> str:
        """Return which node is no longer running, and what its log ended with; nothing while all run."""
        for node in self.processes:
            if self.process(node) != "running":
                tail = "\n".join(self.log(node).splitlines()[-20:])
                return f"node {node} ended ({self.process(node)}):\n{tail}"
        return ""

    def health(self) -> str:
        """Return the status of ``/health``, ``refused``, or ``silent``."""
        return self._ask("GET", "/health", None)

    def completion(self) -> str:
        """Return the status of a completion of one token, ``refused``, ``cut``, or ``silent``."""
        body = {"model": "tiny", "prompt": "badu", "max_tokens": 1, "temperature": 0}
        return self._ask("POST", "/v1/completions", body)

    def running(self) -> str:
        """Return vLLM's own count of running requests, as a whole number."""
        connection = http.client.HTTPConnection(self.addresses[0], HTTP_PORT, timeout=self.engine.silence)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except OSError as error:
            return _fault(error)
        finally:
            connection.close()
        values = re.findall(r"^vllm:num_requests_running\{.*\} (\S+)$", text, re.MULTILINE)
        return str(int(sum(map(float, values)))) if values else "absent"

    def stream(self, name: str, tokens: int) -> None:
        """Begin a streaming completion and wait for its first chunk."""
        stream = self.streams[name] = Stream(self.engine.silence)
        threading.Thread(target=self._read, args=(stream, tokens), daemon=True).start()
        deadline = time.monotonic() + 30
        while stream.chunks == 0 and stream.state == "going" and time.monotonic() < deadline:
            time.sleep(0.05)

    def _read(self, stream: Stream, tokens: int) -> None:
        connection = http.client.HTTPConnection(self.addresses[0], HTTP_PORT, timeout=900)
        body = {"model": "tiny", "prompt": "badu", "max_tokens": tokens, "stream": True, "ignore_eos": True}
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            for line in answer:
                stream.at = time.monotonic()
                if line.startswith(b"data: "):
                    stream.chunks += 1
                if line.startswith(b'data: {"error"'):
                    stream.state = "error"
                    return
                if line.strip() == b"data: [DONE]":
                    stream.state = "complete"
                    return
            stream.state = "cut" if answer.status == 200 else str(answer.status)
        except (OSError, http.client.HTTPException):
            stream.state = "cut"
        finally:
            connection.close()

    def _ask(self, method: str, path: str, body: object) -> str:
        connection = http.client.HTTPConnection(self.addresses[0], HTTP_PORT, timeout=self.engine.silence)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            return _fault(error)
        finally:
            connection.close()
        return str(answer.status)

    def end(self) -> None:
        """Kill whatever is left."""
        for process in self.processes.values():
            for pid in family(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def _fault(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "silent" if isinstance(error, TimeoutError) else "cut"


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def family(first: int) -> set[int]:
    """Return a session leader's processes: its session, so that orphans in it count too, and what descends from it."""
    parents = _parents()
    found = {pid for pid in parents if pid == first or _session(pid) == first}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def leaves(first: int) -> set[int]:
    """Return those that have no child and do the engine's work: not Python's own helper for shared memory."""
    parents = _parents()
    members = family(first) - {first}
    ends = members - {parents[pid] for pid in members if pid in parents}
    return {pid for pid in ends if b"resource_tracker" not in _command_line(pid)}


def _session(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return 0


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
