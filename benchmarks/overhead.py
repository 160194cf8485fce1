"""What the supervisor costs a real engine: tokens per second with and without it, in one run.

``python benchmarks/overhead.py [--rounds N]`` needs the engine of ``make engine-cpu``. Two rehearsals of the same
one-node layout run side by side, one with the supervisor and one without; they are asked in turns, so that whatever
else the machine does slows both.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from os import environ
from pathlib import Path

from lockstep.rehearse.real_engine import find_installed

LAYOUT = [Path("tests/engine/pp2.yaml"), Path("tests/engine/single.yaml")]
PORTS = {True: 18471, False: 18472}  # with the supervisor, without
TOKENS = 200
PATIENCE = 900.0  # seconds to the first answer


def start(weights: Path, folder: Path, *, supervised: bool) -> subprocess.Popen[bytes]:
    """Rehearse one group and keep it."""
    own = folder / f"supervisor-{supervised}.yaml"
    own.write_text(f"{weights.read_text()}supervisor: {{enabled: {str(supervised).lower()}}}\n")
    command: list[str | Path] = [Path(sys.executable).with_name("lockstep"), "rehearse"]
    for base in LAYOUT:
        command += ["-f", base]
    command += ["--name", f"tiny-{supervised}".lower(), "--engine", "real", "--timeout", str(PATIENCE)]
    command += ["--keep", "--port", str(PORTS[supervised]), own]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def ask(port: int) -> float:
    """Ask for a completion of a fixed length; return tokens per second."""
    body = {"model": "tiny", "prompt": "badu kile morafa", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310
        tokens: int = json.load(answer)["usage"]["completion_tokens"]
    return tokens / (time.perf_counter() - began)


def answers(port: int) -> bool:
    """Whether a group answers yet."""
    try:
        ask(port)
    except OSError:
        return False
    return True


def wait_for(port: int) -> None:
    """Wait until a group answers."""
    late = time.monotonic() + PATIENCE
    while not answers(port):
        if time.monotonic() > late:
            sys.exit(f"overhead: no answer on port {port} in {PATIENCE:.0f} s")
        time.sleep(2)


def main() -> None:
    """Measure and print both rates and their ratio."""
    parser = argparse.ArgumentParser(description="tokens per second with and without the supervisor")
    parser.add_argument("--rounds", type=int, default=10, help="completions asked of each (%(default)s)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        weights = Path(name) / "weights.yaml"
        weights.write_text(f"weights: {{path: {find_installed(environ).model()}}}\n")
        groups = {supervised: start(weights, Path(name), supervised=supervised) for supervised in PORTS}
        try:
            for port in PORTS.values():
                wait_for(port)
            rates: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(rounds):
                for supervised, port in PORTS.items():
                    rates[supervised].append(ask(port))
        finally:
            for group in groups.values():
                group.send_signal(signal.SIGINT)
            for group in groups.values():
                group.wait()
    with_it, without = statistics.median(rates[True]), statistics.median(rates[False])
    print(f"median of {rounds} completions of {TOKENS} tokens, in turns")
    print(f"with the supervisor     {with_it:8.1f} tokens/s")
    print(f"without                 {without:8.1f} tokens/s")
    print(f"ratio                   {with_it / without:8.3f}")


if __name__ == "__main__":
    main()
