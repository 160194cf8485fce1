"""Whether an engine answers, hangs, or has requests to finish: asked over its own HTTP port.

Metrics of an engine are blind to a hang (vLLM's ``num_requests_running`` stands at 0 while requests
hang), and its health page only shows a flag. So what proves life is a *completion of one token*, and
what proves a hang is such a completion that does not return **while nothing else moves either** for
``stall`` seconds. Metrics serve as an alibi only: whatever moves them is alive, so

- a busy engine is never asked at all, and a completion that waits in a full queue, or behind a long
  prefill or a slow first token of somebody else, is outlived by the progress of the others;
- an idle engine answers it in milliseconds;
- an engine that shows none of these metrics, or refuses such completions, is never said to hang.

It costs one token every ``stall / 4`` seconds, and only while the engine is idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import time
from typing import TYPE_CHECKING, NamedTuple

from group import words
from group.connections import connections

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = 5.0  # seconds for a page that needs no engine step
UNASKABLE = frozenset({400, 401, 403, 404, 405, 422, 501})  # it answers, but not to completions


class Facts(NamedTuple):
    """What ``launch.sh facts`` says of the engine."""

    version: str
    serves: bool
    health: str
    metrics: str
    completion: str
    progress: tuple[str, ...]
    load: tuple[str, ...]
    key_variable: str

    @classmethod
    def read(cls, text: str) -> Facts:
        """Return the facts in KEY=VALUE lines.

        Raises
        ------
        KeyError
            If one is missing.
        """
        said = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
        return cls(
            said["ENGINE_VERSION"],
            said["SERVES_HTTP"] == "true",
            said["HEALTH_PATH"],
            said["METRICS_PATH"],
            said["COMPLETION_PATH"],
            tuple(said["PROGRESS_METRIC"].split()),
            (said["RUNNING_METRIC"], said["WAITING_METRIC"]),
            said.get("KEY_VARIABLE", ""),
        )


def families(page: str, names: tuple[str, ...]) -> dict[str, float]:
    """Return the sum over all labels of each metric that is on a Prometheus page."""
    sums: dict[str, float] = {}
    for line in page.splitlines():
        name = line.partition(" ")[0].partition("{")[0]
        if name in names:
            value = line.rpartition("}")[2].split() if "}" in line else line.split()[1:]
            try:
                sums[name] = sums.get(name, 0.0) + float(value[0])
            except (IndexError, ValueError):
                continue
    return sums


class Judge:
    """Weighs signs of life against silence.

    Parameters
    ----------
    stall
        Seconds of watched silence that make a hang.
    """

    def __init__(self, stall: float) -> None:
        self.stall = stall
        self.quiet = 0.0  # seconds since the last sign of life
        self.silence = 0.0  # of them, those after a question
        self.asked = False

    def alive(self) -> None:
        """Take note of a sign of life."""
        self.quiet = self.silence = 0.0
        self.asked = False

    def watch(self, seconds: float) -> None:
        """Take note of seconds without one."""
        self.quiet += seconds
        if self.asked:
            self.silence += seconds

    def ask(self) -> bool:
        """Return whether it is time for a question."""
        return self.quiet >= self.stall / 4

    @property
    def hung(self) -> bool:
        """Whether the engine hangs."""
        return self.silence >= self.stall


class Reports(NamedTuple):
    """Who wants to know."""

    answers: Callable[[], None]
    fault: Callable[[str, str], None]
    idle: Callable[[bool], None]
    note: Callable[[str], None]


class Vitals:
    """Watches one engine from its start to its end.

    Parameters
    ----------
    facts
        Paths and metric names.
    host, port, bind
        Where the engine serves, and the address that it listens on.
    model
        Its served name.
    key
        API key, empty for none.
    beat, stall
        Seconds between two looks at the health page; seconds that make a hang.
    reports
        Who wants to know.
    """

    def __init__(
        self,
        facts: Facts,
        host: str,
        port: int,
        bind: str,
        model: str,
        key: str,
        beat: float,
        stall: float,
        reports: Reports,
    ) -> None:
        self.facts = facts
        self.address = (host, port)
        self.bind = bind
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.question = json.dumps({"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0}).encode()
        self.beat = beat
        self.judge = Judge(stall)
        self.reports = reports
        self.healthy_at = float("-inf")
        self.asked_total = 0
        self.answer_seconds = 0.0
        self.draining = asyncio.Event()

    async def fetch(self, path: str, timeout: float, body: bytes | None = None) -> tuple[int, str]:
        """Return status and text of a page.

        Raises
        ------
        OSError
            If there is no whole answer in time.
        """

        def exchange() -> tuple[int, str]:
            connection = http.client.HTTPConnection(*self.address, timeout=timeout)
            try:
                kind = {"Content-Type": "application/json"} if body else {}
                connection.request("POST" if body else "GET", path, body, {**self.headers, **kind})
                answer = connection.getresponse()
                return answer.status, answer.read().decode(errors="replace")
            except http.client.HTTPException as error:
                raise OSError(f"no HTTP answer: {error!r}") from None
            finally:
                connection.close()

        running = asyncio.get_running_loop().run_in_executor(None, exchange)
        running.add_done_callback(lambda late: late.cancelled() or late.exception())  # who gave up asks no more
        # Not wait_for: before Python 3.12 it loses a cancellation, and the watch would outlive its engine.
        if not (await asyncio.wait({running}, timeout=2 * timeout))[0]:
            raise TimeoutError(f"no whole answer in {2 * timeout:g} s")
        return running.result()

    async def watch(self) -> None:
        """Wait until the engine answers, then look after it until cancelled."""
        while not await self._healthy():
            await asyncio.sleep(self.beat)
        while await self._complete() is False:
            await asyncio.sleep(self.beat)
        self.reports.answers()
        await asyncio.gather(self._health(), self._pulse())

    async def _healthy(self) -> bool | None:
        """Return what the health page says; None when it says nothing in time."""
        try:
            status, _ = await self.fetch(self.facts.health, QUICK)
        except (TimeoutError, asyncio.TimeoutError):
            return None
        except OSError:
            return False
        if status == http.client.OK:
            self.healthy_at = time.monotonic()
        return status == http.client.OK

    async def _complete(self) -> bool | None:
        """Return whether a completion came back; None when the engine knows none."""
        self.asked_total += 1
        began = time.monotonic()
        try:
            status, _ = await self.fetch(self.facts.completion, max(QUICK, 2 * self.judge.stall), self.question)
        except OSError:
            return False
        self.answer_seconds = time.monotonic() - began
        if status in UNASKABLE:
            self.reports.note(f"{self.facts.completion} answers {status}: a hang can be seen by nothing but health")
            return None
        return status == http.client.OK

    async def _health(self) -> None:
        bad = 0
        while True:
            await asyncio.sleep(self.beat)
            healthy = await self._healthy()
            # No answer in time is a busy front end, or a hang: the completion tells them apart.
            bad = bad + 1 if healthy is False else 0
            if bad >= 3:
                self.reports.fault(words.ENGINE_UNHEALTHY, f"{self.facts.health} failed {bad} times in a row")
                return

    async def _pulse(self) -> None:
        judge, last, calm = self.judge, time.monotonic(), 0
        question: asyncio.Future[bool | None] | None = None
        before: dict[str, float] = {}
        askable = True
        while not judge.hung:
            period = await self._pause()
            connected = connections(self.address[1], self.bind) if self.draining.is_set() else None
            page = await self._page()
            now = time.monotonic()
            judge.watch(min(now - last, 2 * (period + QUICK)))  # a frozen supervisor has watched nothing
            last = now
            if page is not None:
                moved = families(page, self.facts.progress)
                if askable and not moved:
                    self.reports.note(f"{self.facts.metrics} shows no progress: a hang is left to the engine to notice")
                    askable = False
                if moved != before:
                    judge.alive()
                before = moved
            if self.draining.is_set():
                load = families(page or "", self.facts.load)
                calm = 0 if any(load.values()) or (not load and connected != 0) else calm + 1
                self.reports.idle(calm >= 2)  # one look may fall between two requests
            if question and question.done():
                if question.result():
                    judge.alive()
                askable = askable and question.result() is not None
                question = None
            if not askable:
                judge.alive()
            elif question is None and judge.ask():
                judge.asked = True
                question = asyncio.ensure_future(self._complete())
        self.reports.fault(words.ENGINE_HUNG, f"no token and no progress in {judge.silence:.1f} s")

    async def _pause(self) -> float:
        """Wait for the time of the next look; a drain looks more often. Return that time."""
        if self.draining.is_set():
            await asyncio.sleep(0.5)
            return 0.5
        period = min(5.0, self.judge.stall / 20)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.draining.wait(), period)
        return period

    async def _page(self) -> str | None:
        try:
            status, page = await self.fetch(self.facts.metrics, QUICK)
        except OSError:
            return None
        return page if status == http.client.OK else None
