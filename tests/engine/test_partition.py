"""A worker's network is cut, and there is no supervisor: the stand-in and real vLLM do the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from lockstep.rehearse.launcher import namespaces

if TYPE_CHECKING:
    from .nodes import Engine

HERE = Path(__file__).parent
BOUND = {"standin": 3, "real": 15}  # seconds that a step may hang: the engine's own last resort
PERIOD = {"periodSeconds": 1}

pytestmark = pytest.mark.skipif(namespaces() is None, reason="needs iproute2 and root or user namespaces")


def test_cut_off_worker(engine: Engine, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Requests hang until the bound, then the leader ends by itself; the worker neither notices nor ends."""
    bound, top = BOUND[engine.name], tmp_path / "values.yaml"
    values = {
        "supervisor": {"enabled": False},
        "weights": {"path": str(engine.model)},
        "engine": {"env": {"VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": str(bound)}},
        "pod": {"probes": {"startup": PERIOD, "readiness": PERIOD, "liveness": {"failureThreshold": 60}}},
        "drain": {"seconds": 1, "propagationSeconds": 0},
    }
    top.write_text(yaml.safe_dump(values))
    command = [str(Path(sys.executable).with_name("lockstep")), "rehearse", "-f", str(HERE / "pp2.yaml"), str(top)]
    command += [
        "--engine",
        engine.name,
        "--fault",
        f"cut worker@0 for={bound * 3}",
        "--timeout",
        "900",
        "--json",
        "--name",
        "tiny",
    ]
    environment = dict(os.environ)
    if engine.name == "real":
        environment["LOCKSTEP_ENGINE_FOLDER"] = str(request.getfixturevalue("real_engine").folder)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=2400)
    report = json.loads(done.stdout)
    cut = next(event["at"] for event in report["events"] if event["kind"] == "fault")
    ends = {event["rank"]: event for event in reversed(report["events"]) if event["kind"] == "exited"}
    silent = [event["text"] for event in report["events"] if event["kind"] == "request" and event["at"] > cut]

    assert ("", True) == (report["error"], report["ok"])
    assert "not served: no answer in time" in silent
    assert bound <= ends[0]["at"] - cut
    assert ends[0]["at"] < ends[1]["at"]
    assert any("a container of tiny-0 restarted" in event["text"] for event in report["events"])
