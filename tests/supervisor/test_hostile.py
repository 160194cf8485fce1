"""Whatever comes to the two ports that is not meant for them is dropped, and nothing else happens."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .pods import Group, Pod

TOKEN = "LOCKSTEP_GROUP_TOKEN"  # noqa: S105 - a name
GREETING = b"lockstep " + b"0" * 32 + b"\n"


def speak(pod: Pod, port: int, *parts: bytes, read: bool = True) -> bytes:
    """Send bytes, and return what comes back until the other end closes or says no more for a while."""
    said = b""
    with contextlib.suppress(OSError), socket.create_connection((pod.ip, port), timeout=1) as connection:
        for part in parts:
            connection.sendall(part)
        while read and (some := connection.recv(65536)):
            said += some
    return said


def frames(chance: random.Random) -> Iterator[bytes]:
    """Yield hostile lines: noise, huge and deep JSON, half of the truth, wrong types, numbers that are none."""
    hello = ["Hello", "tests/x", 1, 2, "b", "p", "u", "l", "y", "1.0"]
    beat = ["Beat", "b", 1.0, None, None, "stopped", False, False, True, False, False, "", ""]
    while True:
        kind = chance.randrange(8)
        if kind == 0:
            yield chance.randbytes(chance.randrange(1, 3000))
        elif kind == 1:
            yield b"- " + b"[" * chance.randrange(1, 4000)
        elif kind == 2:
            yield b"A" * 100_000
        else:
            word = list(chance.choice([hello, beat]))
            if kind > 3:
                word[chance.randrange(len(word))] = chance.choice(
                    [None, [], {}, "x" * 600, 10**400, float("inf"), float("nan"), -1, True, ["a", 1], ["a"] * 3, 1.5]
                )
            elif kind == 3:
                word = word[: chance.randrange(len(word))]
            yield b"- " + json.dumps(word).encode()


@pytest.mark.parametrize("token", ["", "secret"], ids=["without-token", "with-token"])
def test_fuzz(make_group: Callable[..., Group], token: str) -> None:
    """Thousands of bytes of nonsense on both ports of both ranks disturb nobody, and cost no memory."""
    group = make_group(**{TOKEN: token}).start()
    group.wait_serving()
    chance = random.Random(7)
    lines = frames(chance)
    before = memory(group.leader)
    for number in range(150):
        line = next(lines)
        greeted = [GREETING] if number % 2 else []
        speak(group.leader, 7071, *greeted, line + b"\n", read=number % 3 == 0)
        speak(group.pods[number % 2], 7070, line + b"\r\n\r\n", read=number % 3 == 0)

    assert group.serving()
    assert [1, 1] == [len(group.starts(rank)) for rank in group.pods]
    assert memory(group.leader) - before < 4096
    assert "Traceback" not in group.leader.text() + group.pods[1].text()
    assert (group.leader.metric("lockstep_dropped_total", port="membership", reason="bad-frame") or 0) > 10


def memory(pod: Pod) -> int:
    """Return the supervisor's resident memory in KiB."""
    assert pod.process
    status = Path(f"/proc/{pod.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_memory_is_small(make_group: Callable[..., Group]) -> None:
    """A supervisor takes less than 30 MiB."""
    group = make_group().start()
    group.wait_serving()

    assert max(memory(pod) for pod in group.pods.values()) < 30 * 1024


@pytest.mark.parametrize("port", [7070, 7071], ids=["status", "membership"])
def test_many_silent_connections(make_group: Callable[..., Group], port: int) -> None:
    """Connections that say nothing are bounded in number and in time, and keep nobody out."""
    group = make_group().start()
    group.wait_serving()
    silent = [socket.create_connection((group.leader.ip, port), timeout=5) for _ in range(150)]
    ready = group.serving()
    group.pods[1].kill()
    group.pods[1].start()
    group.wait_serving()
    for connection in silent:
        connection.close()

    assert ready
    name = "status" if port == 7070 else "membership"
    assert (group.leader.metric("lockstep_dropped_total", port=name, reason="too-many") or 0) > 50


def test_slow_bytes(make_group: Callable[..., Group]) -> None:
    """Who sends a byte now and then is cut off after the deadline."""
    group = make_group().start()
    group.wait_serving()
    began = time.monotonic()
    with socket.create_connection((group.leader.ip, 7071), timeout=1) as connection, contextlib.suppress(OSError):
        while time.monotonic() - began < 30:
            connection.sendall(b"l")
            time.sleep(0.1)

    assert time.monotonic() - began < 15
    assert group.serving()


def test_wrong_group(make_group: Callable[..., Group]) -> None:
    """A rank of another group, led astray by an address that is used again, is dropped without an answer."""
    group = make_group().start()
    group.wait_serving()
    stray = make_group()
    pod = stray.pods[1]
    stray.pods[0].ip = group.leader.ip
    pod.start()
    wait_for(
        lambda: (group.leader.metric("lockstep_dropped_total", port="membership", reason="wrong-group") or 0) > 0, "it"
    )

    assert group.serving()
    assert [1, 1] == [len(group.starts(rank)) for rank in group.pods]
    assert "leader-missing" in pod.get("/ready")[1]


def test_replay(make_group: Callable[..., Group]) -> None:
    """What a member once said cannot be said again by somebody else: signatures cover the connection's nonces."""
    group = make_group(**{TOKEN: "secret"}).linked()
    heard: list[bytes] = []
    assert group.net
    link = group.links[1]
    pump = link._pump

    async def listen(reader: object, writer: object) -> None:
        read = reader.read  # type: ignore[attr-defined]

        async def overhear(size: int) -> bytes:
            data: bytes = await read(size)
            heard.append(data)
            return data

        reader.read = overhear  # type: ignore[attr-defined]
        await pump(reader, writer)  # type: ignore[arg-type]

    link._pump = listen  # type: ignore[method-assign, assignment]
    group.start()
    group.wait_serving()
    lines = [line + b"\n" for line in b"".join(heard).split(b"\n") if b'"Hello"' in line or b'"Beat"' in line]
    nonce = next(line for line in b"".join(heard).split(b"\n") if line.startswith(b"lockstep "))
    said = speak(group.leader, 7071, nonce + b"\n", *lines)

    assert len(lines) > 1
    assert b"Order" not in said
    assert (group.leader.metric("lockstep_dropped_total", port="membership", reason="bad-token") or 0) == 1
    assert group.serving()


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /live HTTP/1.1", b"200"),
        (b"HEAD /live HTTP/1.0", b"200"),
        (b"GET /live?x=1 HTTP/1.1", b"200"),
        (b"POST /live HTTP/1.1", b"405"),
        (b"GET /../etc/passwd HTTP/1.1", b"404"),
        (b"GET /live", b""),
        (b"\xff\xfe /live HTTP/1.1", b""),
    ],
    ids=["get", "head", "query", "post", "elsewhere", "no-version", "no-text"],
)
def test_status_port(make_group: Callable[..., Group], request_line: bytes, status: bytes) -> None:
    """The status port answers GET and HEAD of its pages, and nothing else."""
    group = make_group(1)
    pod = group.leader.start()
    wait_for(lambda: pod.probe("live"), "it lives")
    said = speak(pod, 7070, request_line + b"\r\n\r\n")

    assert status == (said.split(b" ", 2)[1] if said else b"")


def test_secrets_stay_out_of_the_engine(make_group: Callable[..., Group]) -> None:
    """The engine, which runs others' code, does not get the group's token."""
    group = make_group(1, **{TOKEN: "secret"}).start()
    group.wait_serving()
    environments = [
        Path(f"/proc/{process}/environ").read_bytes()
        for process in group.leader.everything()
        if group.leader.process and process != group.leader.process.pid
    ]

    assert environments
    assert not any(TOKEN.encode() in environment for environment in environments)
    assert os.getpid() not in group.leader.everything()
