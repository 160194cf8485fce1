"""The real engine, when it is there, and one engine group at a time."""

from __future__ import annotations

import fcntl
import os
import sys
from typing import TYPE_CHECKING

import pytest

from lockstep.rehearse.real_engine import EngineNotFoundError, RealEngine, find_installed
from lockstep.standin.install import install

from .nodes import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What vLLM needs to be quick on two cores without a GPU, and to stay off the network.
ON_CPU = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}

TIMEOUT = 2400  # seconds of a test: two starts, each on a busy machine


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the real engine to `make test-engine`: a start takes a minute, and a venv in the cache is not a wish."""
    for item in items:
        if not item.get_closest_marker("engine"):
            continue
        if "engine" in config.option.markexpr:
            item.add_marker(pytest.mark.timeout(TIMEOUT))
        else:
            item.add_marker(pytest.mark.skip(reason="the real engine runs in its own tier: make test-engine"))


@pytest.fixture(scope="session")
def real_engine() -> RealEngine:
    """Return the installed vLLM, or skip."""
    try:
        return find_installed(os.environ)
    except EngineNotFoundError as missing:
        pytest.skip(f"needs the real engine: {missing}")


@pytest.fixture(scope="module")
def alone(real_engine: RealEngine) -> Iterator[None]:
    """Wait until no other test on this machine has an engine group: each needs 4 GB and both cores."""
    with (real_engine.folder / "group.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(
    params=[
        pytest.param("standin", id="standin"),
        pytest.param("real", id="real", marks=pytest.mark.engine),
    ]
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Return the stand-in, or the real engine."""
    path = os.environ["PATH"]
    if request.param == "standin":
        command = install(tmp_path / "bin", sys.executable)
        model = tmp_path / "model"
        model.mkdir()
        shape = '{"num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096}'
        (model / "config.json").write_text(shape)
        environment = {"PATH": f"{command.parent}{os.pathsep}{path}"}
        return Engine("standin", environment, model, scale=0.1, start=30, silence=2)
    request.getfixturevalue("alone")
    real: RealEngine = request.getfixturevalue("real_engine")
    environment = {"PATH": f"{real.bin}{os.pathsep}{path}", **ON_CPU}
    return Engine("real", environment, real.model(), scale=1, start=600, silence=4)
