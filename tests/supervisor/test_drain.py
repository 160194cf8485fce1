"""SIGTERM: nothing that fits is cut, nothing that does not fit hangs, and the bounds hold."""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from .pods import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pods import Group, Pod


class Stream(threading.Thread):
    """A streaming completion: what came, whether it was whole, and when it ended."""

    def __init__(self, pod: Pod, tokens: int, delay: float) -> None:
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(pod.ip, 8000, timeout=60)
        self.body = json.dumps({"prompt": "x", "stream": True, "max_tokens": tokens, "delay": delay})
        self.text = b""
        self.ended = 0.0
        self.start()
        wait_for(lambda: self.text, "the stream flows")

    def run(self) -> None:
        """Read until the end."""
        try:
            self.connection.request("POST", "/v1/completions", self.body)
            answer = self.connection.getresponse()
            while part := answer.read1():
                self.text += part
        except (OSError, http.client.HTTPException):
            pass
        self.ended = time.monotonic()

    @property
    def whole(self) -> bool:
        """Whether the end came."""
        self.join(60)
        return b"[DONE]" in self.text


@pytest.mark.parametrize("ranks", [(0,), (1,), (0, 1)], ids=["leader", "worker", "both"])
def test_streams_that_fit_are_whole(make_group: Callable[..., Group], ranks: tuple[int, ...]) -> None:
    """SIGTERM at any rank drains the group: not Ready at once, every stream to its end, then exit code 0."""
    group = make_group().start()
    group.wait_serving()
    stream = Stream(group.leader, tokens=30, delay=0.1)
    for rank in ranks:
        group.pods[rank].send(signal.SIGTERM)
    wait_for(lambda: not any(pod.probe("ready") for pod in group.pods.values()), "no rank is Ready")
    answered = group.leader.complete()

    assert answered  # whoever has not heard of it yet is served
    assert stream.whole
    assert [0] * len(ranks) == [group.pods[rank].code() for rank in ranks]


def test_streams_of_an_engine_without_metrics(make_group: Callable[..., Group]) -> None:
    """TensorRT-LLM shows none by default: its open connections say when the last stream has ended."""
    group = make_group()
    group.leader.tell("blind")
    group.timers["LOCKSTEP_DRAIN_SECONDS"] = "50"
    group.start()
    group.wait_serving()
    stream = Stream(group.leader, tokens=30, delay=0.1)
    began = time.monotonic()
    group.leader.send(signal.SIGTERM)

    assert stream.whole
    assert 0 == group.leader.code()
    assert time.monotonic() - began < 25
    assert "reason=drained: requests ended" in group.leader.text()


def test_a_request_that_comes_late_is_whole(make_group: Callable[..., Group]) -> None:
    """An engine that was idle when the drain began may get a request until everybody has heard of it."""
    group = make_group()
    group.timers["LOCKSTEP_PROPAGATION_SECONDS"] = "3"
    group.start()
    group.wait_serving()
    group.leader.send(signal.SIGTERM)
    time.sleep(2)  # long enough to be seen idle
    stream = Stream(group.leader, tokens=40, delay=0.1)

    assert stream.whole
    assert 0 == group.leader.code()


def test_workers_outlive_the_leader(make_group: Callable[..., Group]) -> None:
    """The workers' engines run until the leader's has ended."""
    group = make_group()
    group.leader.tell("stubborn")
    group.start()
    group.wait_serving()
    stream = Stream(group.leader, tokens=20, delay=0.1)
    for pod in group.pods.values():
        pod.send(signal.SIGTERM)
    wait_for(lambda: group.leader.engine() is None or group.pods[1].engine() is None, "an engine ends")

    assert group.leader.engine() is None
    assert stream.whole


def test_streams_that_do_not_fit_are_closed(make_group: Callable[..., Group]) -> None:
    """After drain.seconds the connection of what is left is closed: the client does not hang."""
    group = make_group()
    group.timers["LOCKSTEP_DRAIN_SECONDS"] = "2"
    group.start()
    group.wait_serving()
    stream = Stream(group.leader, tokens=10_000, delay=0.1)
    began = time.monotonic()
    for pod in group.pods.values():
        pod.send(signal.SIGTERM)

    assert not stream.whole
    assert 2 < stream.ended - began < 2 + 5 + 10
    assert "reason=drained: not all requests ended" in group.leader.text()
    assert [0, 0] == [pod.code() for pod in group.pods.values()]


def test_second_term(make_group: Callable[..., Group]) -> None:
    """A second SIGTERM ends the drain at once."""
    group = make_group().start()
    group.wait_serving()
    stream = Stream(group.leader, tokens=10_000, delay=0.1)
    group.leader.send(signal.SIGTERM)
    wait_for(lambda: group.leader.state() == "draining", "it drains")
    began = time.monotonic()
    group.leader.send(signal.SIGTERM)

    assert 0 == group.leader.code()
    assert time.monotonic() - began < 10
    assert not stream.whole


def test_worker_leaves_and_comes_back(make_group: Callable[..., Group]) -> None:
    """When only a worker is told to end, the group drains and waits for its successor: no restart is counted."""
    group = make_group().linked().start()
    group.wait_serving()
    group.pods[1].send(signal.SIGTERM)
    code = group.pods[1].code()
    wait_for(lambda: group.leader.state() == "assembling", "the leader waits")
    group.add(1).start()
    group.wait_serving()

    assert 0 == code
    assert "lockstep_restarts_total{" not in group.leader.get("/metrics")[1]


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "worker"])
def test_term_while_assembling(make_group: Callable[..., Group], rank: int) -> None:
    """A rank that has nothing to finish ends at once."""
    group = make_group()
    pod = group.pods[rank].start()
    wait_for(lambda: "missing" in pod.text(), "it waits")
    pod.send(signal.SIGTERM)

    assert 0 == pod.code(10)


def test_term_while_starting(make_group: Callable[..., Group]) -> None:
    """Engines that do not serve yet are stopped without a wait."""
    group = make_group()
    group.leader.tell("never")
    group.start()
    wait_for(lambda: group.leader.state() == "starting" and group.leader.engine(), "it starts")
    for pod in group.pods.values():
        pod.send(signal.SIGTERM)

    assert [0, 0] == [pod.code(15) for pod in group.pods.values()]


def test_stubborn_engine(make_group: Callable[..., Group]) -> None:
    """An engine that ignores SIGTERM is killed."""
    group = make_group(1)
    group.leader.tell("stubborn")
    group.start()
    group.wait_serving()
    group.leader.send(signal.SIGTERM)

    assert 0 == group.leader.code(30)
