"""Processes are ended for certain, and never one that only has the number of ours."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from ci.sim import ports, process

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def start(folder: Path, *argv: str) -> process.Running:
    """Start a process that logs below ``folder``."""
    (folder / "logs").mkdir(exist_ok=True)
    return process.start("it", argv, os.environ, folder)


def test_a_process_is_seen_and_ended(tmp_path: Path) -> None:
    """From start to end, with its output in the log."""
    one = start(tmp_path, "bash", "-c", "echo here; exec sleep 60")
    log = tmp_path / "logs" / "it.log"
    while not log.read_text():
        assert one.alive

    process.stop([one])

    assert "here\n" == log.read_text()
    assert not one.alive


def test_a_process_that_ignores_the_request_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its time, then it goes."""
    monkeypatch.setattr(process, "PATIENCE", 0.3)
    one = start(tmp_path, "bash", "-c", "trap '' TERM; while :; do sleep 0.1; done")

    process.stop([one])

    assert not one.alive


def test_a_process_that_took_over_the_number_is_left_alone(tmp_path: Path) -> None:
    """After a restart of the machine the numbers in the file belong to others."""
    other = start(tmp_path, "sleep", "60")
    ours = dataclasses.replace(other, started=other.started - 1)

    process.stop([ours])

    assert other.alive
    process.stop([other])


def test_ports_are_free_and_different() -> None:
    """Each name gets a port of its own that nobody listens on."""
    names = [f"port-{number}" for number in range(50)]
    chosen = ports.free(names)

    assert names == list(chosen)
    assert 50 == len(set(chosen.values()))
