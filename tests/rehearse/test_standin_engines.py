"""The stand-ins of SGLang and TensorRT-LLM: flags per release, refusals, and what their nodes answer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from lockstep.standin.arguments import ArgumentError
from lockstep.standin.install import install
from lockstep.standin.layout import ConfigError
from lockstep.standin.settings import Settings
from lockstep.standin.sglang.arguments import parse as parse_sglang
from lockstep.standin.sglang.config import layout as layout_of_sglang
from lockstep.standin.trtllm import config
from lockstep.standin.trtllm.arguments import parse as parse_trtllm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUICK = {"STANDIN_IMPORT_SECONDS": "0", "STANDIN_LOAD_SECONDS": "0", "STANDIN_SCALE": "0.05"}
SGLANG = ["--model-path", "tiny", "--tp-size", "2", "--pp-size", "2", "--nnodes", "2"]


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.5.10", "--attn-dp-size=2"),
        ("0.5.23", "--torchao-config=x"),
        ("0.5.10", "--disaggregation-decode-tp=2"),
        ("0.5.23", "--max-model-len=9"),
    ],
    ids=lambda value: value,
)
def test_flags_that_an_sglang_does_not_know(version: str, flag: str) -> None:
    """Refused in argparse's words."""
    with pytest.raises(ArgumentError, match=f"sglang: error: unrecognized arguments: {flag}"):
        parse_sglang([*SGLANG, flag], version, "sglang")


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("0.5.23", ["--attn-dp-size", "2"]),
        ("0.5.23", ["--dp-size", "2", "--enable-dp-attention"]),
        ("0.5.10", ["--dp-size", "2", "--enable-dp-attention", "--torchao-config", "x"]),
    ],
    ids=" ".join,
)
def test_attention_data_parallel(version: str, flags: list[str]) -> None:
    """Data parallel attention is made of the tensor ranks, in either spelling."""
    arguments = parse_sglang([*SGLANG, "--node-rank", "1", *flags], version, "sglang")

    assert [2, 3] == list(layout_of_sglang(arguments, Settings()).ranks)


@pytest.mark.parametrize(
    ("message", "flags"),
    [
        ("tp_size must be divisible by number of nodes", ["--nnodes", "3"]),
        ("multi-node data-parallel replicas are not supported", ["--dp-size", "2"]),
        ("tp_size must be divisible by attn_dp_size", ["--attn-dp-size", "4"]),
        ("cannot contain a colon", ["--served-model-name", "a:b"]),
        ("8 is not divisible by 3", ["--tp-size", "3", "--nnodes", "1"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_combinations_that_sglang_refuses(message: str, flags: list[str]) -> None:
    """By its own assertions."""
    with pytest.raises(ConfigError, match=message):
        layout_of_sglang(parse_sglang([*SGLANG, *flags], "0.5.23", "sglang"), Settings(heads=8))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("No such option: --max-model-len", ["m", "--max-model-len=9"]),
        ("No such option: --served_model_name", ["m", "--served_model_name", "x"]),
        ("--tp_size: invalid int value: 'x'", ["serve", "m", "--tp_size", "x"]),
        ("Missing argument 'MODEL'", ["--tp_size", "2"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_that_trtllm_refuses(message: str, words: list[str]) -> None:
    """As click refuses."""
    with pytest.raises(ArgumentError, match=message):
        parse_trtllm(words, "1.2.1")


def test_mpi_job_of_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job has to have one rank for each GPU of the layout."""
    monkeypatch.setenv(config.SPAWNED, "1")
    monkeypatch.setenv(config.WORLD, "4")

    assert 4 == config.layout(parse_trtllm(["m", "--tp_size", "2", "--pp_size", "2"], "1.2.1"), Settings()).world

    with pytest.raises(ConfigError, match=r"the MPI job has 4 ranks, but tp_size \* pp_size \* cp_size is 2"):
        config.layout(parse_trtllm(["m", "--tp_size", "2"], "1.2.1"), Settings())


class Pair:
    """SGLang on two nodes that are two addresses; node 0 leads."""

    def __init__(self, folder: Path, version: str) -> None:
        self.hosts = [f"127.79.{os.getpid() % 250}.{node + 1}" for node in range(2)]
        command = install(folder, engine="sglang")
        meet = ["--dist-init-addr", f"{self.hosts[0]}:20000"]
        self.nodes = [
            subprocess.Popen(
                [command, "serve", *SGLANG, *meet, "--node-rank", str(node), "--host", host],
                env=os.environ | QUICK | {"STANDIN_VERSION": version},
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            for node, host in enumerate(self.hosts)
        ]

    def health(self, node: int) -> int:
        """Return the status of a node's health page; 0 when nobody listens."""
        try:
            with urllib.request.urlopen(f"http://{self.hosts[node]}:30000/health", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def until(self, done: Callable[[], bool]) -> bool:
        """Wait for something, at most ten seconds; return whether it came."""
        deadline = time.monotonic() + 10
        while not done() and time.monotonic() < deadline:
            time.sleep(0.05)
        return done()

    def kill(self, node: int) -> None:
        """SIGKILL to all processes of a node."""
        os.killpg(self.nodes[node].pid, signal.SIGKILL)
        self.nodes[node].wait()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Return a pair that serves."""
    found = Pair(tmp_path, "0.5.23")
    assert found.until(lambda: found.health(0) == found.health(1) == 200)
    yield found
    for node in (0, 1):
        if found.nodes[node].poll() is None:
            found.kill(node)


def test_lost_worker_and_what_health_says(pair: Pair) -> None:
    """Of the leader it sees the loss, as its health runs a request; a worker says 200 whatever happens."""
    pair.kill(1)

    assert 503 == pair.health(0)


def test_orphaned_worker_says_it_is_well(pair: Pair) -> None:
    """Its dummy page knows nothing of the leader."""
    pair.kill(0)

    assert 200 == pair.health(1)
    assert pair.nodes[1].poll() is None


def test_term_on_a_worker_waits_for_the_leader(pair: Pair) -> None:
    """It goes on after TERM, and ends when the leader does."""
    pair.nodes[1].terminate()
    time.sleep(0.3)

    assert (200, 200) == (pair.health(0), pair.health(1))

    pair.nodes[0].terminate()

    assert pair.until(lambda: [0, 0] == [node.poll() for node in pair.nodes])
