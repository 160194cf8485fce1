"""``trtllm-llmapi-launch``: one rank of an MPI job; the first one also runs the server.

As the original (tensorrt_llm/llmapi/trtllm-llmapi-launch) it takes its rank from the first variable that is there,
splits the words of its command again, and hides MPI from it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

from lockstep.standin.layout import Layout
from lockstep.standin.log import say
from lockstep.standin.settings import Settings
from lockstep.standin.trtllm import config, mpi
from lockstep.standin.trtllm.behaviour import RENDEZVOUS_TIMEOUT
from lockstep.standin.worker import run_worker

RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID")
SIZES = ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
HIDDEN = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "MPI_", "UCX_", "I_MPI_", "HYDRA_", "KMP_", "MPICH_", "MV2_", "CRAY_")


def main(argv: list[str]) -> int:
    """Be the rank; return its exit code."""
    chosen = Settings.from_environment()
    rank = next((int(os.environ[name]) for name in RANKS if os.environ.get(name)), 0)
    size = next((int(os.environ[name]) for name in SIZES if os.environ.get(name)), 1)
    time.sleep(chosen.import_seconds)
    address = mpi.share(_free_address())
    say(f"rank {rank}", f"of {size} on {socket.gethostname()}, the server is to be at {address}")
    if rank == 0:
        task = _start(" ".join(argv).split(), size, address)
        threading.Thread(target=lambda: os._exit(task.wait()), daemon=True).start()
    at = urlsplit(address)
    one = Layout("", (), 0, size, 1, size, rank, 1, 0, (str(at.hostname), int(at.port or 0)), "")
    life, _kept = os.pipe()  # nothing but mpirun ends a rank
    run_worker(one, chosen, rank, RENDEZVOUS_TIMEOUT, life, os.open(os.devnull, os.O_WRONLY))


def _free_address() -> str:
    """Return an address of this node that is free, from port 10012 on."""
    host, port = socket.gethostbyname(socket.gethostname()), 10012
    while True:
        with socket.socket() as trial:
            try:
                trial.bind((host, port))
            except OSError:
                port += 1
            else:
                return f"tcp://{host}:{port}"


def _start(task: list[str], size: int, address: str) -> subprocess.Popen[bytes]:
    """Run the server beside rank 0, as one that knows no MPI."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    own = {config.SPAWNED: "1", config.ADDRESS: address, config.WORLD: str(size)}
    return subprocess.Popen(task, env=kept | own)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
