"""The stand-in and real vLLM are held to the same transcript: transcript.yaml."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from .nodes import Engine, Pair
from .transcript import Player, Refusal, Scene, Seen, keep, refusals, scenes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def network() -> int:
    """Return the third byte of this test's loopback addresses: test processes do not share any."""
    return 8 + os.getpid() % 240


@pytest.fixture
def pair(engine: Engine, scene: Scene, network: int, tmp_path: Path) -> Iterator[Pair]:
    """Return two nodes, none of them started; kill them afterwards."""
    found = Pair(engine, tmp_path, network, scene.env, scene.nodes)
    yield found
    found.end()


@pytest.mark.parametrize("scene", [pytest.param(scene, id=scene.name) for scene in scenes()])
def test_scene(scene: Scene, pair: Pair, engine: Engine) -> None:
    """Every step of the scene goes as the transcript says."""
    player = Player(pair)
    try:
        player.play(scene)
    finally:
        keep(scene.name, engine.name, player.record)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in refusals()])
def test_refusal(case: Refusal, engine: Engine, network: int, tmp_path: Path) -> None:
    """A wrong command line ends by itself, with the message and the exit code of the transcript."""
    command = Pair(engine, tmp_path, network, {}, nodes=1).command(0, case.flags)
    environment = {**os.environ, **engine.environment}
    began = time.monotonic()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=engine.start, cwd=tmp_path
    )
    said = next((line for line in (done.stdout + done.stderr).splitlines() if case.says in line), "")
    seen = f"exit {done.returncode}: {case.says if said else 'another message'}"
    keep(case.name, engine.name, [Seen(f"`{' '.join(case.flags)}`", seen, round(time.monotonic() - began, 1))])

    assert said, done.stdout + done.stderr
    assert case.code == done.returncode
