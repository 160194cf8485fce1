"""A rehearsal of a whole release with the real engine."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lockstep.rehearse.plan import Report

from .nodes import family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from lockstep.rehearse.real_engine import RealEngine

HERE = Path(__file__).parent
START = 900.0  # seconds; about 70 on two idle cores


class Kept:
    """``lockstep rehearse --engine real --keep`` of pp2.yaml with others on top, in float32.

    Parameters
    ----------
    engine : RealEngine
        Whose tiny model is served.
    folder : Path
        Of the test.
    layout : str
        ``pp2``, ``tp2`` or ``single``: a file beside this one.
    stack : str, optional
        Another stack than that of the file.
    """

    def __init__(self, engine: RealEngine, folder: Path, layout: str, stack: str | None = None) -> None:
        top = folder / "values.yaml"
        # Tensor-parallel sums are rounded in another order: only in float32 is every greedy choice the same.
        values = {"weights": {"path": str(engine.model("tiny-float32"))}, "engine": {"args": {"dtype": "float32"}}}
        if stack:
            values["stack"] = {"name": stack}
        top.write_text(yaml.safe_dump(values))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        beneath = ["pp2.yaml"] if layout == "pp2" else ["pp2.yaml", f"{layout}.yaml"]
        files = [word for name in beneath for word in ("-f", str(HERE / name))]
        command = [str(Path(sys.executable).with_name("lockstep")), "rehearse", *files, "--name", "tiny"]
        command += ["--engine", "real", "--json", "--keep", "--port", str(self._port), "--timeout", str(START)]
        self._report, self._errors = folder / "report.json", folder / "errors"
        with self._report.open("wb") as report, self._errors.open("wb") as errors:
            environment = os.environ | {"LOCKSTEP_ENGINE_FOLDER": str(engine.folder)}
            self._process = subprocess.Popen([*command, str(top)], stdout=report, stderr=errors, env=environment)

    def __enter__(self) -> Self:
        """Return it; it may still be starting."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it, at once when asking does not help."""
        self.stop()
        try:
            self._process.wait(150)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask for the end: the pods are deleted, and drain."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def report(self, timeout: float) -> Report:
        """Wait for the end; return what came of it."""
        self._process.wait(timeout)
        return Report.read(self._report)

    def kill_engine(self, rank: int) -> None:
        """Send SIGKILL to all processes of a rank's engine, and to nothing else of its pod."""
        for pid in family(self._process.pid):
            if _variable(pid, "LOCKSTEP_NODE_RANK") == str(rank) and _is_engine(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def wait_until_served(self) -> None:
        """Wait until the Service has an endpoint that answers."""
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                said = self._errors.read_text() + self._report.read_text()
                raise AssertionError(f"the rehearsal ended with {self._process.returncode}: {said}")
            try:
                self._ask("GET", "/health")
            except (OSError, http.client.HTTPException):
                time.sleep(1)
            else:
                return
        raise AssertionError(f"the group did not serve within {START} s")

    def wait_until_refused(self) -> None:
        """Wait until the Service has no endpoint any more: both pods have noticed."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                self._ask("GET", "/health")
            except (OSError, http.client.HTTPException):
                return
            time.sleep(0.2)
        raise AssertionError("the pods were still in the Service 60 s after the kill")

    def answer(self, prompt: str, tokens: int) -> str:
        """Return what the model says to a prompt, always the likeliest token."""
        body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
        return str(json.loads(self._ask("POST", "/v1/completions", body))["choices"][0]["text"])

    def stream(self, tokens: int) -> Iterator[str]:
        """Yield the data lines of a streaming chat completion."""
        messages = [{"role": "user", "content": "badu kile"}]
        body = {"model": "tiny", "messages": messages, "max_tokens": tokens, "stream": True, "ignore_eos": True}
        with (
            closing(self._connection()) as connection,
            _send(connection, "POST", "/v1/chat/completions", body) as lines,
        ):
            for line in lines:
                if line.startswith(b"data: "):
                    yield line.decode().removeprefix("data: ").strip()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)

    def _ask(self, method: str, path: str, body: object = None) -> bytes:
        with closing(self._connection()) as connection, _send(connection, method, path, body) as answer:
            return answer.read()


def _send(connection: http.client.HTTPConnection, method: str, path: str, body: object) -> http.client.HTTPResponse:
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {"Content-Type": "application/json"})
    return connection.getresponse()


def _variable(pid: int, name: str) -> str | None:
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"):
            if entry.startswith(f"{name}="):
                return entry.partition("=")[2]
    return None


def _is_engine(pid: int) -> bool:
    """Whether it is vLLM's command or one of its processes, which name themselves."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        return name == "vllm" or name.startswith("VLLM::")
    return False
