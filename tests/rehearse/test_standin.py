"""The stand-in as an engine: its flags per release, its refusals, its protocol, its counters.

How it starts, fails and drains is held against the real engine by tests/engine/transcript.yaml.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from lockstep.standin.arguments import ArgumentError
from lockstep.standin.install import install
from lockstep.standin.layout import ConfigError
from lockstep.standin.settings import SettingError, Settings
from lockstep.standin.vllm.arguments import parse
from lockstep.standin.vllm.config import layout as layout_of

from .conftest import QUICK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

PORT = 8123
COUNTER = itertools.count(1)  # each server has an address of its own


def serve(*flags: str, version: str = "0.32.0") -> argparse.Namespace:
    """Read a command line as that release does."""
    return parse(["serve", "tiny", *flags], version)


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.11.0", "--nnodes=2"),
        ("0.11.0", "--master-addr=x"),
        ("0.15.1", "--disable-access-log-for-endpoints=/health"),
        ("0.17.1", "--shutdown-timeout=1"),
        ("0.17.1", "--distributed-timeout-seconds=1"),
        ("0.18.0", "--swap-space=4"),
        ("0.17.0", "--disable-log-requests"),
        ("0.32.0", "--no-such-flag"),
    ],
    ids=lambda value: value,
)
def test_flags_that_a_release_does_not_know(version: str, flag: str) -> None:
    """An unknown flag ends the start, as in argparse."""
    with pytest.raises(ArgumentError, match=f"unrecognized arguments: {re.escape(flag)}"):
        serve(flag, version=version)


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.11.1", "--nnodes=2"),
        ("0.18.0", "--shutdown-timeout=1"),
        ("0.17.1", "--swap-space=4"),
        ("0.16.0", "--disable-log-requests"),
    ],
    ids=lambda value: value,
)
def test_flags_that_a_release_knows(version: str, flag: str) -> None:
    """The neighbours of those."""
    assert serve(flag, version=version)


@pytest.mark.parametrize(
    "flags",
    [["--tensor-parallel-size", "4"], ["--tensor_parallel_size=4"], ["-tp", "4"], ["-tp=4"], ["--tensor-parallel=4"]],
    ids=" ".join,
)
def test_spellings(flags: list[str]) -> None:
    """Dashes, underscores, short forms, abbreviations: as the engine's parser takes them."""
    assert 4 == serve(*flags).tensor_parallel_size


def test_json_flags_and_their_dotted_keys() -> None:
    """A JSON option, and single keys of one."""
    found = serve(
        "--kv-transfer-config", '{"kv_role": "kv_both"}', "-cc.mode=2", "--compilation-config.backend", "eager"
    )

    assert {"kv_role": "kv_both"} == found.kv_transfer_config


@pytest.mark.parametrize(
    ("message", "flags"),
    [
        ("--max-num-seqs: invalid int value: 'many'", ["--max-num-seqs", "many"]),
        ("--dtype: invalid choice: 'int3'", ["--dtype", "int3"]),
        ("expected one argument", ["--tensor-parallel-size"]),
    ],
    ids=["no number", "no choice", "no value"],
)
def test_wrong_values(message: str, flags: list[str]) -> None:
    """Refused in argparse's words."""
    with pytest.raises(ArgumentError, match=message):
        serve(*flags)


@pytest.mark.parametrize(
    ("message", "flags", "chosen"),
    [
        (r"attention heads \(8\) must be divisible by tensor parallel size \(3\)", ["-tp", "3"], Settings(heads=8)),
        (r"`--nnodes 2` must evenly divide the total world size \(3\)", ["-tp", "3", "-n", "2"], Settings(heads=8)),
        (r"must be between 0 and 1; got `--node-rank -1`", ["-tp", "2", "-n", "2", "-r=-1"], Settings()),
        (r"max_model_len \(9\) is greater", ["--max-model-len", "9"], Settings(context=8)),
        (r"api_server_count cannot be used with headless", ["--headless", "-asc", "2"], Settings()),
    ],
    ids=["heads", "nodes before heads", "rank", "length", "headless"],
)
def test_combinations_that_are_refused(message: str, flags: list[str], chosen: Settings) -> None:
    """In the order in which the engine checks them."""
    with pytest.raises(ConfigError, match=message):
        layout_of(serve(*flags), chosen)


def test_ranks_of_a_node() -> None:
    """Node 1 of TP2 x PP2 over two nodes holds the second stage."""
    layout = layout_of(serve("-tp", "2", "-pp", "2", "-n", "2", "-r", "1"), Settings())

    assert [2, 3] == list(layout.ranks)
    assert "Worker_PP1_TP0" == layout.name(2)


def test_ranks_of_data_parallel_engines() -> None:
    """Whole engines on each node: the second node holds the engines from its start rank on, and finds the leader's."""
    shared = [
        "-tp",
        "2",
        "-dp",
        "4",
        "-dpl",
        "2",
        "--data-parallel-address",
        "10.0.0.1",
        "--data-parallel-rpc-port",
        "77",
    ]
    leader = layout_of(serve(*shared), Settings())
    worker = layout_of(serve(*shared, "--headless", "--data-parallel-start-rank", "2"), Settings())

    assert ([0, 1, 2, 3], [4, 5, 6, 7]) == ([*leader.ranks], [*worker.ranks])
    assert ("10.0.0.1", 77) == worker.master
    assert leader.fingerprint == worker.fingerprint


@pytest.mark.parametrize("flag", ["--data-parallel-hybrid-lb", "--data-parallel-external-lb", "--data-parallel-rank=1"])
def test_layouts_beyond_the_standin(flag: str) -> None:
    """It says so instead of behaving otherwise than the engine."""
    with pytest.raises(ConfigError, match="beyond it; use the real engine"):
        layout_of(serve("-dp", "2", flag), Settings())


def test_shape_comes_from_a_local_model(tmp_path: Path) -> None:
    """A folder with a config.json says how many heads there are."""
    (tmp_path / "config.json").write_text('{"num_attention_heads": 6}')

    with pytest.raises(ConfigError, match=r"attention heads \(6\)"):
        layout_of(parse(["serve", str(tmp_path), "-tp", "4"], "0.32.0"), Settings())


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        ("STANDIN_LOAD_SECONDS is 'soon'", "STANDIN_LOAD_SECONDS", "soon"),
        ("STANDIN_SPEED is no setting", "STANDIN_SPEED", "1"),
    ],
    ids=["no number", "no setting"],
)
def test_settings_are_read_strictly(monkeypatch: pytest.MonkeyPatch, message: str, name: str, value: str) -> None:
    """A typo in a variable is no silent default."""
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingError, match=message):
        Settings.from_environment()


class Server:
    """One stand-in on a loopback address of its own."""

    def __init__(self, tmp_path: Path, *flags: str, **environment: str) -> None:
        self.host = f"127.77.{os.getpid() % 250}.{next(COUNTER)}"
        command = install(tmp_path / "bin")
        self.process = subprocess.Popen(
            [command, "serve", "tiny", "--host", self.host, "--port", str(PORT), *flags],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not self.answers():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def answers(self) -> bool:
        """Return whether it serves."""
        try:
            return self.get("/health") == ""
        except OSError:
            return False

    def get(self, path: str, body: object = None, **headers: str) -> str:
        """Return the text of an answer."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://{self.host}:{PORT}{path}", data, headers)
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return str(answer.read().decode())

    def complete(self, **body: object) -> Any:
        """Return the answer to a completion."""
        return json.loads(self.get("/v1/completions", {"prompt": "one two three", "max_tokens": 4} | body))

    def refusal(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        """Return status and document of an answer that is an error."""
        with pytest.raises(urllib.error.HTTPError) as caught:
            self.get(path, body, **headers)
        with caught.value as answer:
            return answer.code, json.loads(answer.read())

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels."""
        found = re.findall(rf"^vllm:{name}\{{.*\}} (\S+)$", self.get("/metrics"), re.MULTILINE)
        return sum(map(float, found))

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(timeout=10)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a stand-in that serves, the same for all tests that only ask it."""
    flags = ("--served-model-name", "tiny", "nick", "--max-model-len", "64")
    found = Server(tmp_path_factory.mktemp("server"), *flags, **QUICK)
    yield found
    found.stop()


def test_models_and_version(server: Server) -> None:
    """All served names, the context length, the version."""
    cards = json.loads(server.get("/v1/models"))["data"]

    assert [("tiny", 64), ("nick", 64)] == [(card["id"], card["max_model_len"]) for card in cards]
    assert {"version": "0.32.0"} == json.loads(server.get("/version"))


def test_answers_are_a_function_of_the_prompt(server: Server) -> None:
    """The same prompt gives the same text, another prompt another."""
    texts = [server.complete(prompt=prompt)["choices"][0]["text"] for prompt in ("a b", "a b", "a c")]

    assert texts[0] == texts[1] != texts[2]


def test_usage(server: Server) -> None:
    """Words are tokens."""
    assert {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7} == server.complete()["usage"]


def test_stream(server: Server) -> None:
    """Server-sent events: a piece per token, the usage when asked for, then the end; together the whole answer."""
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    whole = json.loads(server.get("/v1/chat/completions", body))["choices"][0]["message"]["content"]
    raw = server.get("/v1/chat/completions", body | {"stream": True, "stream_options": {"include_usage": True}})
    *events, last = [line.removeprefix("data: ") for line in raw.splitlines() if line]
    pieces = [json.loads(event) for event in events]

    assert "[DONE]" == last
    assert whole == "".join(each["choices"][0]["delta"]["content"] for each in pieces[:-1])
    assert ([None] * 4 + ["length"], 5) == (
        [each["choices"][0]["finish_reason"] for each in pieces[:-1]],
        pieces[-1]["usage"]["completion_tokens"],
    )


def test_a_body_in_chunks(server: Server) -> None:
    """A proxy that does not know the length sends it so; the connection is good for the next request."""
    whole = server.complete(prompt="in chunks")["choices"][0]["text"]
    pieces = [b'{"prompt": "in ', b'chunks", ', b'"max_tokens": 4}']
    texts = []
    with closing(http.client.HTTPConnection(server.host, PORT, timeout=20)) as connection:
        for _ in range(2):
            connection.request("POST", "/v1/completions", iter(pieces), {"Content-Type": "application/json"})
            texts.append(json.loads(connection.getresponse().read())["choices"][0]["text"])

    assert [whole, whole] == texts


@pytest.mark.parametrize(
    ("code", "message", "body"),
    [
        (404, "The model `other` does not exist.", {"model": "other", "prompt": "x"}),
        (400, "maximum context length is 64 tokens", {"prompt": "x", "max_tokens": 99}),
        (400, "max_tokens must be at least 1", {"prompt": "x", "max_tokens": -1}),
        (400, "a JSON object is expected", ["x"]),
    ],
    ids=["model", "length", "tokens", "body"],
)
def test_requests_that_are_refused(server: Server, code: int, message: str, body: object) -> None:
    """With vLLM's error document."""
    status, document = server.refusal("/v1/completions", body)

    assert code == status == document["error"]["code"]
    assert message in document["error"]["message"]


def test_counters(server: Server) -> None:
    """What a supervisor and an autoscaler read grows as vLLM's does."""
    names = ("generation_tokens_total", "prompt_tokens_total", "request_success_total", "iteration_tokens_total_count")
    before = [server.metric(name) for name in names]
    server.complete()
    grown = [server.metric(name) - old for name, old in zip(names, before, strict=True)]

    assert [4, 3, 1] == grown[:3]
    assert 4 <= grown[3]
    assert 0 == server.metric("num_requests_running")


def test_long_prefill_is_progress(tmp_path: Path) -> None:
    """A prompt that takes long to read counts steps before its first token, so it is no hang."""
    server = Server(tmp_path, STANDIN_PREFILL_TOKENS_PER_SECOND="10")
    try:
        before = time.monotonic()
        server.complete(prompt="w " * 10)

        assert 1.0 <= time.monotonic() - before
        assert 10 < server.metric("iteration_tokens_total_count")
    finally:
        server.stop()


def test_api_key(tmp_path: Path) -> None:
    """A key guards /v1 and nothing else."""
    server = Server(tmp_path, "--api-key", "k")
    try:
        assert 401 == server.refusal("/v1/completions", {"prompt": "x"})[0]
        assert server.get("/v1/completions", {"prompt": "x"}, Authorization="Bearer k")
        assert server.get("/metrics")
    finally:
        server.stop()


def test_ranks_with_different_flags_never_serve(tmp_path: Path) -> None:
    """They meet, and then nothing happens, without a word: the reason why launch scripts give all ranks one list."""
    host = f"127.78.{os.getpid() % 250}.1"
    command = [install(tmp_path / "bin"), "serve", "tiny", "-pp", "2", "--nnodes", "2", "--master-addr", host]
    roles = [["--node-rank", "0", "--host", host], ["--node-rank", "1", "--headless", "--max-num-seqs", "7"]]
    log = tmp_path / "log"
    with log.open("w") as out:
        ranks = [subprocess.Popen([*command, *role], stdout=out, start_new_session=True) for role in roles]
    time.sleep(2)

    with pytest.raises(ConnectionRefusedError):
        urllib_open(f"http://{host}:8000/health")

    for rank in ranks:
        end(rank)

    assert "ERROR" not in log.read_text()


def test_further_node_that_is_not_headless(tmp_path: Path) -> None:
    """It waits for the others without a word, and only with all of them finds that it cannot be asked."""
    host = f"127.78.{os.getpid() % 250}.2"
    command = [install(tmp_path / "bin"), "serve", "tiny", "-pp", "2", "--nnodes", "2", "--master-addr", host]
    log, env = tmp_path / "log", os.environ | QUICK
    with ExitStack() as stack:
        out = stack.enter_context(log.open("w"))
        second = subprocess.Popen([*command, "--node-rank", "1"], stdout=out, env=env, start_new_session=True)
        stack.callback(end, second)
        time.sleep(1)

        assert second.poll() is None
        assert "ERROR" not in log.read_text()

        leads = [*command, "--node-rank", "0", "--host", host]
        stack.callback(end, subprocess.Popen(leads, stdout=out, env=env, start_new_session=True))

        assert 1 == second.wait(timeout=20)

    assert "collective_rpc should not be called on follower node" in log.read_text()


def end(node: subprocess.Popen[bytes]) -> None:
    """Kill all processes of a node: TERM is lost while an engine starts, and a core outlives its parent."""
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def urllib_open(url: str) -> None:
    """Open a URL; raise what is behind urllib's own error."""
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except urllib.error.URLError as error:
        raise error.reason if isinstance(error.reason, OSError) else error from None
