"""The ranks of ``--distributed-executor-backend ray``: tasks that real Ray places on the nodes of its cluster."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from lockstep.standin.install import PACKAGES, PROGRAM
from lockstep.standin.layout import Layout
from lockstep.standin.log import say
from lockstep.standin.settings import Settings
from lockstep.standin.worker import run_worker

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

PLACEMENT_SECONDS = 1800  # PG_WAIT_TIMEOUT, vllm/v1/executor/ray_utils.py


class RayRanks:
    """All ranks, one per GPU of the cluster, packed; this process holds none."""

    def __init__(
        self,
        layout: Layout,
        chosen: Settings,  # noqa: ARG002 - each rank reads those of its node
        timeout: float,
        others: Sequence[socket.socket],  # noqa: ARG002 - nothing is forked
    ) -> None:
        try:
            self._ray = importlib.import_module("ray")
        except ImportError:
            raise OSError("ImportError: Ray is not installed, which --distributed-executor-backend ray needs") from None
        util = importlib.import_module("ray.util")
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        self._ray.init(logging_level=logging.ERROR, log_to_driver=False)
        gpus = int(self._ray.cluster_resources().get("GPU", 0))
        if gpus < layout.world:
            say("EngineCore", f"the cluster has {gpus} GPUs, and the group needs {layout.world}: waiting", "WARNING")
        group = util.placement_group([{"GPU": 1}] * layout.world, strategy="PACK")
        if not group.wait(PLACEMENT_SECONDS):
            raise OSError(f"Cannot provide a placement group of {layout.world} GPUs within {PLACEMENT_SECONDS} seconds")
        # A function of the standard library, so that Ray's workers need nothing of ours. Its input closes with them.
        run = self._ray.remote(num_cpus=0, num_gpus=1, max_retries=0)(subprocess.call)
        self._tasks = [
            run.options(scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(group, bundle)).remote(
                _command(layout, rank, timeout), stdin=subprocess.PIPE
            )
            for rank, bundle in enumerate(self._bundles(util.placement_group_table(group)))
        ]

    def _bundles(self, table: dict[str, dict[int, str]]) -> list[int]:
        """Return the bundles in the order of ranks: this node's first, then node by node."""
        here = self._ray.get_runtime_context().get_node_id()
        at = table["bundles_to_node_id"]
        return sorted(at, key=lambda bundle: (at[bundle] != here, at[bundle], bundle))

    def lost(self) -> int | None:
        """Return a rank whose task has ended."""
        ended, _ = self._ray.wait(self._tasks, timeout=0)
        return self._tasks.index(ended[0]) if ended else None

    def stop(self, patience: float) -> None:  # noqa: ARG002 - Ray has its own
        """Leave the cluster, which ends this job's tasks."""
        with contextlib.suppress(Exception):
            self._ray.shutdown()


def _command(layout: Layout, rank: int, timeout: float) -> list[str]:
    program = PROGRAM.format(packages=str(PACKAGES), module="vllm.ray_ranks")
    return [sys.executable, "-S", "-c", program, json.dumps(asdict(layout)), str(rank), str(timeout)]


def main(argv: list[str]) -> int:
    """Be one rank, on whichever node; standard input ends with the Ray worker that started this."""
    given = json.loads(argv[0])
    layout = Layout(**(given | {"served": tuple(given["served"]), "master": tuple(given["master"])}))
    run_worker(layout, Settings.from_environment(), int(argv[1]), float(argv[2]), 0, os.open(os.devnull, os.O_WRONLY))
