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
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lockstep.rehearse.plan import Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from lockstep.rehearse.real_engine import RealEngine

HERE = Path(__file__).parent
START = 900.0  # seconds; about 70 on two idle cores


class Rehearsal:
    """``lockstep rehearse --engine real`` of pp2.yaml with others on top.

    Parameters
    ----------
    engine : RealEngine
        Whose tiny model is served.
    folder : Path
        Of the test.
    layout : str
        ``pp2``, ``tp2`` or ``single``: a file beside this one.
    dtype : str
        ``bfloat16``, or ``float32`` where outputs must be equal.
    options : sequence of str
        Further ones of the command.
    """

    def __init__(
        self, engine: RealEngine, folder: Path, layout: str, dtype: str = "bfloat16", options: Sequence[str] = ()
    ) -> None:
        top = folder / "values.yaml"
        model = engine.model("tiny" if dtype == "bfloat16" else "tiny-float32")
        top.write_text(yaml.safe_dump({"weights": {"path": str(model)}, "engine": {"args": {"dtype": dtype}}}))
        beneath = ["pp2.yaml"] if layout == "pp2" else ["pp2.yaml", f"{layout}.yaml"]
        files = [word for name in beneath for word in ("-f", str(HERE / name))]
        command = [str(Path(sys.executable).with_name("lockstep")), "rehearse", *files, "--name", "tiny"]
        command += ["--engine", "real", "--json", "--timeout", str(START), *options, str(top)]
        self._report, self._errors = folder / "report.json", folder / "errors"
        with self._report.open("wb") as report, self._errors.open("wb") as errors:
            environment = os.environ | {"LOCKSTEP_ENGINE_FOLDER": str(engine.folder)}
            self._process = subprocess.Popen(command, stdout=report, stderr=errors, env=environment)

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

    def ended(self) -> str:
        """Return what it said when it has ended; nothing while it runs."""
        running = self._process.poll() is None
        return "" if running else f"the rehearsal ended: {self._errors.read_text()}{self._report.read_text()}"


class Kept(Rehearsal):
    """A rehearsal that goes on serving, on a port of this machine, until it is asked to stop."""

    def __init__(self, engine: RealEngine, folder: Path, layout: str, dtype: str = "bfloat16") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        super().__init__(engine, folder, layout, dtype, ["--keep", "--port", str(self._port)])

    def wait_until_served(self) -> None:
        """Wait until the Service has an endpoint that answers."""
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            assert "" == self.ended()
            try:
                self._request("GET", "/health").read()
            except (OSError, http.client.HTTPException):
                time.sleep(1)
            else:
                return
        raise AssertionError(f"the group did not serve within {START} s")

    def answer(self, prompt: str, tokens: int) -> str:
        """Return what the model says to a prompt, always the likeliest token."""
        body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
        document = json.loads(self._request("POST", "/v1/completions", body).read())
        return str(document["choices"][0]["text"])

    def stream(self, tokens: int) -> Iterator[str]:
        """Yield the data lines of a streaming chat completion."""
        messages = [{"role": "user", "content": "badu kile"}]
        body = {"model": "tiny", "messages": messages, "max_tokens": tokens, "stream": True, "ignore_eos": True}
        for line in self._request("POST", "/v1/chat/completions", body):
            if line.startswith(b"data: "):
                yield line.decode().removeprefix("data: ").strip()

    def _request(self, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        return connection.getresponse()
