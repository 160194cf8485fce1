"""The rehearsal itself: ``python -m lockstep.rehearse.session FOLDER``, started by ``launcher``.

Its standard input is a leash: a line asks it to stop, a second one to stop at once, and the end of
the input (the launcher died) does so too.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import completion, engine, faults
from lockstep.rehearse.controller import Controller
from lockstep.rehearse.forward import Forward
from lockstep.rehearse.manifest import find_group
from lockstep.rehearse.network import Loopback, Namespaces
from lockstep.rehearse.plan import Plan, Report
from lockstep.rehearse.timeline import Timeline
from lockstep.rehearse.view import choose_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockstep.rehearse.faults import Fault

ANSWER = 60.0, 48  # seconds and tokens of the first completion
TRY = 3.0, 8  # of one that looks whether the group serves: short, for an engine that is slow serves too


class FailedError(Exception):
    """The group did not do what it should; the text says what."""


class StoppedError(Exception):
    """Somebody asked for the end."""


class Session:
    """One rehearsal."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self._timeline = Timeline(folder / "timeline.jsonl")
        self._report = Report(plan.engine, plan.network, faults=[str(each) for each in plan.faults])
        self._stopped = asyncio.Event()
        self._stopped_by = "stopped", 128 + signal.SIGINT
        self._leash: asyncio.Task[None] | None = None
        self._controller: Controller | None = None

    async def run(self) -> Report:
        """Hold the rehearsal; whatever happens, there is a report."""
        self._leash = asyncio.create_task(self._hear())
        try:
            await self._hold()
            self._report.ok, self._report.exit_code = True, 0
        except FailedError as fault:
            self._report.error = str(fault)
        except LockstepError as fault:
            self._report.error, self._report.exit_code = str(fault), 2
        except StoppedError:
            self._report.error, self._report.exit_code = self._stopped_by
        if self._controller is not None:
            await self._stop(self._controller)
        self._timeline.close()
        self._report.events = self._timeline.events
        return self._report

    async def _hear(self) -> None:
        """Follow the leash: asked once, stop; asked twice or let go, end everything now."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        asked = await reader.readline()
        self._stopped.set()
        if asked:
            await reader.readline()
        if self._controller is not None:
            self._controller.kill()

    def _unread(self, error: OSError) -> None:
        """Stop: nobody reads what is printed, or it cannot be written."""
        if not isinstance(error, BrokenPipeError):
            self._stopped_by = f"the output cannot be written ({error.strerror})", 2
        else:
            self._stopped_by = "stopped", 128 + signal.SIGPIPE
        self._stopped.set()

    async def _hold(self) -> None:
        plan = self._plan
        group = find_group(plan.objects, plan.namespace)
        faults.check(plan.faults, group, namespaces=plan.network == "namespaces", standin=plan.engine == "standin")
        network = Namespaces(self._folder) if plan.network == "namespaces" else Loopback(_token(self._folder))
        loads = {each.rank: each.seconds or 0.0 for each in plan.faults if each.kind == "slow-load"}
        base = engine.environments(plan.engine, group, self._folder, loads, plan.network)
        controller = Controller(group, network, self._folder / "pods", base, self._timeline)
        controller.delays = {each.rank: each.seconds or 0.0 for each in plan.faults if each.kind == "delay"}
        self._controller = controller
        with choose_view(controller, self._timeline, quiet=plan.quiet, closed=self._unread) as show:
            await controller.start()
            early = [asyncio.create_task(self._later(each)) for each in plan.faults if each.from_start]
            forward = Forward(plan.forward, controller) if plan.forward is not None else None
            if forward:
                await forward.start()
            await self._until_ready(may_restart=bool(early))
            await self._first_answer()
            show.answer(self._report)
            await self._faults(early)
            if plan.keep:
                show.keep(controller, forward)
                await self._stopped.wait()

    async def _until_ready(self, *, may_restart: bool) -> None:
        """Wait until the group is Ready; a container that ends before is the end, unless a fault did it."""

        def broken() -> str | None:
            controller = self._running()
            for pod in controller.pods.values():
                if pod.container is not None and pod.container.ended.is_set() and not may_restart:
                    ended = [e.text for e in self._timeline.events if e.kind == "exited" and e.pod == pod.pod.name]
                    tail = "\n".join(f"  | {line}" for line in pod.log_tail())
                    what = f"{pod.pod.name} ({pod.pod.role}): {ended[-1]} before the group was Ready."
                    return f"{what} Its last words:\n{tail}"
            return None

        await self._wait(lambda: self._running().ready, "Ready", broken)
        self._report.ready_seconds = round(self._timeline.now(), 2)

    async def _wait(self, done: Callable[[], bool], what: str, broken: Callable[[], str | None] = lambda: None) -> None:
        controller = self._running()
        deadline = self._timeline.now() + self._plan.timeout
        while not done():
            failure = controller.failure()
            if failure:
                raise LockstepError(failure)
            reason = broken()
            if reason:
                raise FailedError(reason)
            if self._timeline.now() > deadline:
                states = ", ".join(f"{each.pod.name} {each.status.phase}" for each in controller.pods.values())
                raise FailedError(f"the group was not {what} within {self._plan.timeout:g} s ({states})")
            await self._pause(0.2)

    async def _pause(self, seconds: float) -> None:
        """Sleep until something changed, at most so long; raise when the end was asked for."""
        controller = self._running()
        controller.changed.clear()
        waits = [asyncio.create_task(each.wait()) for each in (controller.changed, self._stopped)]
        _, pending = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if self._stopped.is_set():
            raise StoppedError

    async def _first_answer(self) -> None:
        self._timeline.add("request", f"chat completion asked: {self._plan.prompt}")
        found = await self._ask(*ANSWER)
        if not found.ok:
            raise FailedError(f"the group is Ready, but a chat completion failed: {found.text}")
        self._report.answered_seconds = round(self._timeline.now(), 2)
        self._report.answer = found.text
        self._timeline.add("request", f"answered in {found.seconds:.2f} s ({found.tokens} tokens): {found.text}")

    async def _ask(self, timeout: float, tokens: int) -> completion.Completion:
        return await completion.complete(self._running(), self._plan.prompt, timeout, tokens)

    async def _faults(self, early: list[asyncio.Task[None]]) -> None:
        """Let everything go wrong that is in the script, then wait until the group answers again."""
        late = [each for each in self._plan.faults if not each.from_start and each.kind not in faults.FROM_START]
        if not late and not early:
            return
        tasks = early + [asyncio.create_task(self._later(each)) for each in late]
        client = asyncio.create_task(self._client())
        try:
            await self._gather(tasks)
        finally:
            client.cancel()
        done = {event.text: event.at for event in self._timeline.events if event.kind == "fault"}
        await self._until_serving({each: done[str(each)] for each in self._plan.faults if str(each) in done})

    async def _client(self) -> None:
        """Ask once a second while things go wrong, and tell what a client sees."""
        while True:
            await asyncio.sleep(1.0)
            found = await self._ask(*TRY)
            self._timeline.add("request", "served" if found.ok else f"not served: {found.text}")

    async def _gather(self, tasks: list[asyncio.Task[None]]) -> None:
        while any(not task.done() for task in tasks):
            await self._pause(0.1)
        for task in tasks:
            task.result()

    async def _until_serving(self, moments: dict[Fault, float]) -> None:
        """Wait until the group answers again; ``moments`` says when each fault was done."""
        ending = [each for each in moments if each.ends_container and not each.from_start]

        def ended() -> bool:
            exits = [event for event in self._timeline.events if event.kind in ("exited", "deleted")]
            return all(any(e.rank == each.rank and e.at >= moments[each] for e in exits) for each in ending)

        await self._wait(ended, "through with the faults")
        deadline = self._timeline.now() + self._plan.timeout
        while True:
            await self._wait(lambda: self._running().ready, "Ready again")
            found = await self._ask(*TRY)
            if found.ok:
                break
            self._timeline.add("request", f"not served: {found.text}")
            if self._timeline.now() > deadline:
                raise FailedError(f"the group did not answer within {self._plan.timeout:g} s after the last fault")
            await self._pause(0.5)
        self._report.recovered_seconds = round(self._timeline.now() - max(moments.values()), 2)
        self._timeline.add("request", f"serving again {self._report.recovered_seconds:.1f} s after the last fault")

    async def _later(self, fault: Fault) -> None:
        began = 0.0 if fault.from_start else self._report.ready_seconds or 0.0
        await asyncio.sleep(max(0.0, began + fault.at - self._timeline.now()))
        await faults.inject(fault, self._running())

    async def _stop(self, controller: Controller) -> None:
        with contextlib.suppress(LockstepError):
            await controller.stop()
        controller.kill()

    def _running(self) -> Controller:
        if self._controller is None:
            raise RuntimeError("the rehearsal has not begun")
        return self._controller


def _token(folder: Path) -> int:
    """Return a number that differs between rehearsals that run side by side."""
    return int.from_bytes(folder.name.encode()[-3:], "big")


def main(folder: Path) -> int:
    """Run the plan in a folder and leave the report there, whole; a full disk has an exit code of its own."""
    plan = Plan.read(folder / "plan.json")
    try:
        report = asyncio.run(_main(plan, folder))
        made = folder / "report.new"
        made.write_text(report.to_json())
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return errno.ENOSPC
    made.rename(folder / "report.json")
    return report.exit_code


async def _main(plan: Plan, folder: Path) -> Report:
    return await Session(plan, folder).run()


if __name__ == "__main__":
    socket.setdefaulttimeout(10)
    sys.exit(main(Path(sys.argv[1])))
