"""Process 1 of every engine container: starts, serves, restarts and drains a group as one.

    python3 supervisor.py -- ENGINE_ARGUMENT...

The decisions are made in ``group/membership.py``; this file carries them out. One event loop in one
thread holds everything, so ``/live`` tells whether it turns. Standard library only, Python 3.9.
"""

from __future__ import annotations

import os
import signal
import sys

# Process 1 has no default action for TERM, and the imports take a moment. The event loop's handler replaces this one.
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))

import asyncio
import contextlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

sys.dont_write_bytecode = True  # the launch files are compared byte by byte

from group import membership as core
from group import settings, wire, words
from group.processes import Children, SharedMemory, adopt_orphans, exit_text, process_text
from group.report import Report
from group.status import StatusPort
from group.vitals import Facts, Reports, Vitals

PATIENCE = 5.0  # seconds between TERM and KILL of a drained engine
HOOKS_DONE = "LOCKSTEP_HOOKS_DONE"  # survives exec: hooks run once per container


class Supervisor:
    """One rank of a group.

    Parameters
    ----------
    mine
        This rank's part of the contract.
    """

    def __init__(self, mine: settings.Settings) -> None:
        self.mine = mine
        self.timing = mine.timing
        self.environment = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_GROUP_TOKEN"}
        self.children = Children()
        self.report = Report(mine.rank)
        self.status = StatusPort(self.answer)
        self.door = wire.Doorkeeper(wire.STRANGERS)
        self.facts: Facts | None = None
        self.hello: core.Hello | None = None
        self.member: core.Member | None = None
        self.leader: core.Leader | None = None
        self.vitals: Vitals | None = None
        self.engine: asyncio.Task[None] | None = None
        self.stopping: asyncio.Task[None] | None = None
        self.engine_process: int | None = None
        self.engine_address = mine.leader
        self.channels: dict[int, wire.Channel] = {}  # the leader's, by rank
        self.channel: wire.Channel | None = None  # a worker's
        self.refused: core.Refusal | None = None  # a worker's
        self.unreachable = ""
        self.said: dict[int, object] = {}  # what was last sent to whom
        # A folder for temporary files outlives the container, not the pod.
        self.memory = Path(tempfile.gettempdir()) / f"lockstep-{mine.uid}"
        self.shared_memory = SharedMemory(self.memory.with_name(f"{self.memory.name}-shm"))
        self.served = False
        self.terminated = 0
        self.counter = 1  # of the incarnation that was last spoken of
        self.ended: asyncio.Future[core.Exit] = asyncio.get_running_loop().create_future()
        self.tasks: set[asyncio.Task[None]] = set()

    # The life of the process.

    async def run(self) -> int:
        """Run until there is a reason to end; return the exit code."""
        adopt_orphans()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self.children.attend)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.on_terminate)
        self.sweep()  # what the last container of this pod left
        servers = [await self.listen(self.status.handle, self.mine.status_port, wire.LINE * 2)]
        self.spawn(self.live())
        try:
            end = await self.ended
            self.report.event(words.FAILED if end.code else words.ENDED, end.reason, "")
        finally:
            for task in self.tasks:
                task.cancel()
            left = await self.children.end(bound=self.timing.kill)
        if left and not end.code:
            end = core.Exit(1, words.UNKILLABLE)
            self.report.event(words.FAILED, end.reason, outlived(left))
        self.sweep()
        for channel in [*self.channels.values(), *([self.channel] if self.channel else [])]:
            channel.close()
        for server in servers:
            server.close()
        await asyncio.sleep(0)  # the last lines leave
        return end.code

    async def listen(self, handle: Handler, port: int, limit: int) -> asyncio.AbstractServer:
        """Serve a port, or end with a message that says which."""
        try:
            return await asyncio.start_server(handle, self.mine.bind, port, limit=limit, backlog=64)
        except OSError as error:
            raise settings.ContractError(f"cannot listen on {self.mine.bind} port {port}: {error}") from None

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run a coroutine beside the others; its failure is the supervisor's."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.on_task_done)
        return task

    def on_task_done(self, task: asyncio.Task[None]) -> None:
        """Never go on with half a supervisor."""
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() and not self.ended.done():
            self.ended.set_exception(task.exception() or RuntimeError())

    async def live(self) -> None:
        """Learn who we are, join the group, and turn the loop."""
        code, said = await self.ask_launch("facts")
        if code:
            self.finish(core.Exit(64, words.BAD_CONTRACT))
            return
        try:
            self.facts = Facts.read(said.decode())
        except KeyError as error:
            raise settings.ContractError(f"launch.sh facts does not say {error}") from None
        self.hello = settings.identity(self.mine, os.environ, self.facts.version)
        self.member = core.Member(self.hello.boot, self.timing, prepared=HOOKS_DONE in os.environ)
        if self.mine.rank == 0:
            heir = self.memory.exists()
            self.leader = core.Leader(self.hello, self.timing, time.monotonic(), heir=heir)
            if self.mine.nodes > 1:
                await self.listen(self.host, self.mine.membership_port, wire.LINE)
        else:
            self.spawn(self.visit())
        while True:
            self.children.attend()
            self.turn()
            self.renew()
            await asyncio.sleep(self.timing.heartbeat / 4)

    def on_terminate(self) -> None:
        """Answer SIGTERM."""
        self.terminated += 1
        self.report.event(self.state, words.TERMINATED, f"SIGTERM number {self.terminated}")
        if self.member:
            self.member.on_terminate(time.monotonic())
            self.turn()
        else:
            self.finish(core.Exit(0, words.TERMINATED))

    def finish(self, end: core.Exit) -> None:
        """End the supervisor."""
        if not self.ended.done():
            self.ended.set_result(end)

    # One turn: let the core decide, do what it says, tell the others.

    @property
    def state(self) -> str:
        """The group's state, as far as this rank knows."""
        if self.leader:
            return self.leader.state
        return self.member.state if self.member else words.JOINING

    def turn(self) -> None:
        """Carry every change through to its end."""
        if self.member is None or self.ended.done():
            return
        now, before = time.monotonic(), None
        while True:
            if self.leader:
                self.leader.on_beat(0, self.member.beat(now), now)
                if self.leader.phase == core.RUN and not self.leader.heir:
                    self.memory.touch()
                order = self.leader.order(0)
                if order:
                    self.member.on_order(order, now)
            self.member.tick(now)
            for action in self.member.take():
                self.perform(action)
            after = self.member.beat(now)
            if after == before:
                break
            before = after
        if self.leader and self.leader.counter != self.counter:
            self.counter = self.leader.counter
            self.report.event(self.state, self.leader.reason, self.leader.verdict())
        if self.vitals and self.state == words.DRAINING:
            self.vitals.draining.set()
        self.served = self.served or self.state == words.SERVING
        self.tell(now)
        end = self.leader.finished(now) if self.leader else self.member.finished()
        if end:
            self.finish(end)
        else:
            self.report.look(self.state, *self.situation())

    def tell(self, now: float) -> None:
        """Send what the others do not know yet; heartbeats send the rest."""
        if self.leader:
            for rank, channel in list(self.channels.items()):
                order = self.leader.order(rank)
                if order and self.said.get(rank) != order:
                    self.said[rank] = order
                    channel.send(order)
        elif self.channel and self.member and not self.refused:
            beat = self.member.beat(now)
            last = self.said.get(0)
            if (
                not isinstance(last, core.Beat)
                or last._replace(sent=now) != beat
                or (now - last.sent >= self.timing.heartbeat * 0.9)
            ):
                self.said[0] = beat
                self.channel.send(beat)

    def situation(self) -> tuple[str, str, str]:
        """Return the incarnation, and what is waited for, or went wrong: a reason and its detail."""
        member, leader = self.member, self.leader
        known = leader.incarnation if leader else member.incarnation if member else None
        name = f"{known.epoch[:4]}-{known.counter}" if known else "-"
        if leader:
            return (name, *leader.waiting)
        if self.state == words.JOINING:
            looked = core.Refusal(words.LEADER_MISSING, self.unreachable or f"{self.mine.leader} is looked up")
            return (name, *(self.refused or looked))
        return (name, *member.waiting) if member else (name, "", "")

    # What the core asks for.

    def perform(self, action: core.Action) -> None:
        """Do what the core says."""
        if isinstance(action, core.Start):
            self.engine = self.spawn(self.run_engine(action.incarnation))
        elif isinstance(action, core.Stop):
            self.report.stopped(action.reason)
            self.report.event(words.STOPPING, action.reason, action.detail)
            for task in (self.engine, self.stopping):
                if task:
                    task.cancel()
            self.stopping = self.spawn(self.stop_engine(gently=action.gently))
        elif isinstance(action, core.RunHooks):
            self.spawn(self.run_hooks())

    async def ask_launch(self, *command: str) -> tuple[int, bytes]:
        """Run a command of launch.sh; return its exit code and what it printed."""
        with tempfile.TemporaryFile() as printed:
            environment = {**self.environment, "LOCKSTEP_LEADER_ADDRESS": self.engine_address}
            _, ended = self.children.start(
                ["bash", str(self.mine.folder / "launch.sh"), *command], environment, printed
            )
            code = await ended
            printed.seek(0)
            return code, printed.read()

    async def run_hooks(self) -> None:
        """Run the preLaunch hooks: all of them, or no engine ever."""
        code, _ = await self.ask_launch("hooks")
        if code:
            self.report.event(self.state, words.HOOK_FAILED, exit_text(code))
            self.finish(core.Exit(1, words.HOOK_FAILED))
        elif self.member:
            os.environ[HOOKS_DONE] = "true"
            self.member.on_prepared()
            self.turn()

    async def run_engine(self, incarnation: core.Incarnation) -> None:
        """Run this rank's engine of an incarnation to its end."""
        code, said = await self.ask_launch("engine", *self.mine.arguments)
        command = said.decode(errors="surrogateescape").split("\0")[:-1]
        if code or not command:
            self.on_fault(words.LAUNCH_FAILED, f"launch.sh engine: {exit_text(code)}")
            return
        try:
            named = {**self.environment, "LOCKSTEP_INCARNATION": f"{incarnation.epoch}-{incarnation.counter}"}
            self.engine_process, ended = self.children.start(command, named)
        except OSError as error:
            self.on_fault(words.LAUNCH_FAILED, f"{command[0]}: {error.strerror}")
            return
        self.report.event(
            words.STARTING, "", f"engine process {self.engine_process} of {incarnation.epoch[:4]}-{incarnation.counter}"
        )
        watching = None
        if self.facts and self.facts.serves:
            watching = self.spawn(self.watch_engine(self.facts))
        else:
            self.on_answer()
        try:
            self.on_fault(words.ENGINE_EXIT, exit_text(await ended))
        finally:
            if watching:
                watching.cancel()

    async def watch_engine(self, facts: Facts) -> None:
        """Ask the engine how it is."""
        self.vitals = Vitals(
            facts,
            self.mine.ip,
            self.mine.port,
            self.mine.bind,
            self.mine.served,
            os.environ.get(facts.key_variable, ""),
            self.timing.heartbeat,
            self.mine.stall,
            Reports(self.on_answer, self.on_fault, self.on_idle, self.report.note),
        )
        try:
            await self.vitals.watch()
        finally:
            self.vitals = None

    async def stop_engine(self, *, gently: bool) -> None:
        """Stop the engine's tree; one that outlives KILL takes the container with it."""
        process = self.engine_process if gently else None
        alive = await self.children.end(
            bound=self.timing.kill, gently=process, patience=min(PATIENCE, self.timing.kill)
        )
        if alive:
            self.report.event(words.STOPPING, words.UNKILLABLE, outlived(alive))
            self.finish(core.Exit(1, words.UNKILLABLE))
            return
        self.engine_process = None
        self.sweep()
        if self.member:
            self.member.on_stopped()
        self.turn()

    def sweep(self) -> None:
        """Give back the memory of an engine that is gone."""
        left = self.shared_memory.sweep()
        if left:
            self.report.note(f"removed {len(left)} leftovers of the engine from /dev/shm")

    def on_fault(self, reason: str, detail: str) -> None:
        """Take note of the engine's end."""
        if self.member:
            self.member.on_fault(reason, detail)
            self.turn()

    def on_answer(self) -> None:
        """Take note that the engine answers."""
        if self.member:
            self.member.on_answer()
            self.member.on_idle(idle=not (self.facts and self.facts.serves))
            self.turn()

    def on_idle(self, idle: bool) -> None:
        """Take note whether the engine has requests."""
        if self.member and self.member.idle != idle:
            self.member.on_idle(idle)
            self.turn()

    # The two ends of the membership.

    async def host(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to the leader."""
        channel = wire.Channel(reader, writer, self.mine.token, leading=True)
        self.door.enter(writer)
        hello = None
        leader = self.leader
        assert leader is not None  # noqa: S101 - who hosts, leads
        try:
            hello = await wire.greet(channel, self.mine.group, self.timing.deadline)
            refusal = leader.admit(hello, time.monotonic())
            if refusal:
                channel.send(refusal)
                self.turn()
                channel.close()
                return
            self.door.known(writer)
            former = self.channels.pop(hello.rank, None)
            if former:
                former.close()
            self.channels[hello.rank] = channel
            self.said.pop(hello.rank, None)
            while leader.holds(hello.rank, hello.boot):
                beat = await channel.receive(self.timing.deadline, core.Beat)
                leader.on_beat(hello.rank, beat, time.monotonic())
                self.turn()
        except wire.Dropped as dropped:
            self.door.drop(writer, dropped.reason)
        except (asyncio.IncompleteReadError, OSError):
            writer.transport.abort()
        finally:
            self.door.known(writer)
            channel.close()
            if hello and self.channels.get(hello.rank) is channel:
                del self.channels[hello.rank]
                leader.on_link_lost(hello.rank, hello.boot, time.monotonic())

    async def visit(self) -> None:
        """Keep a worker connected to whoever leads now."""
        while True:
            try:
                await self.visit_once()
            except wire.Dropped as dropped:
                self.unreachable = f"{self.engine_address}: {dropped.reason}"
            except asyncio.IncompleteReadError:
                self.unreachable = (
                    f"{self.engine_address} closed the connection: it leads another group, or has another token"
                )
            except OSError as error:
                self.unreachable = f"{self.mine.leader}: {error.strerror or error}"
            if self.channel:
                self.channel.close()
                self.channel = None
                if self.member and not self.refused:
                    self.member.on_link_lost(time.monotonic())
            self.turn()
            await asyncio.sleep(min(1.0, self.timing.heartbeat / 2))

    async def visit_once(self) -> None:
        """Join the leader, and obey it until the connection ends."""
        member, hello, deadline = self.member, self.hello, self.timing.deadline
        assert member is not None and hello is not None  # noqa: S101, PT018 - live() made them
        self.engine_address, reader, writer = await wire.dial(self.mine.leader, self.mine.membership_port, deadline)
        channel = wire.Channel(reader, writer, self.mine.token, leading=False)
        try:
            await wire.introduce(channel, hello, deadline)
            self.said.clear()
            channel.send(member.beat(time.monotonic()))
            while True:
                word = await channel.receive(deadline, core.Order, core.Refusal)
                self.refused = word if isinstance(word, core.Refusal) else None
                if self.refused:
                    return
                self.channel = channel
                member.on_order(word, time.monotonic())
                self.turn()
        finally:
            if self.channel is not channel:
                channel.close()

    def renew(self) -> None:
        """Start anew with the launch files of now when they keep this rank out of its group, or others out of ours.

        A ConfigMap changes under running pods. Kubelet brings all mounts to the same content within
        about a minute; a rank without an engine can follow at any time.
        """
        if self.member is None or self.member.engine != core.STOPPED or self.mine.source == self.mine.folder:
            return
        knocks = self.leader.knocks.values() if self.leader and self.leader.phase != core.RUN else []
        refusals = [knock.refusal for knock in knocks] + ([self.refused] if self.refused else [])
        if not any(refusal.reason == words.LAUNCH_DIFFERS for refusal in refusals):
            return
        assert self.hello is not None  # noqa: S101 - who has a member has an identity
        if settings.launch_digest(self.mine.source) == self.hello.launch:
            return
        self.report.event(
            self.state, words.LAUNCH_DIFFERS, f"starting again with the launch files of {self.mine.source}"
        )
        shutil.rmtree(self.mine.folder, ignore_errors=True)
        os.execvp("bash", ["bash", str(self.mine.source / "launch.sh"), *self.mine.arguments])  # noqa: S606

    # The status port.

    def answer(self, path: str) -> tuple[int, str]:
        """Answer a probe, or the metrics."""
        state = self.state
        _, reason, detail = self.situation()
        text = f"{state} {reason} {detail}".strip() + "\n"
        # Pods of a rollout are replaced one by one, each when the last is Ready: let it go on.
        outdated = self.refused is not None and self.refused.reason in words.ROLLOUT
        if path == "/live":
            return 200, text
        if path == "/startup":
            return (200 if self.served or outdated else 503), text
        if path == "/ready":
            return (200 if self.ready or outdated else 503), text
        if path == "/metrics":
            return 200, self.report.metrics(self)
        return 404, "there are /startup, /ready, /live and /metrics\n"

    @property
    def ready(self) -> bool:
        """Whether this rank's part of a whole group works."""
        member = self.member
        if member is None or self.state != words.SERVING or not member.answering or self.terminated:
            return False
        fresh = max(self.timing.deadline, 10.0)
        return self.vitals is None or time.monotonic() - self.vitals.healthy_at < fresh


def outlived(processes: list[int]) -> str:
    """Return who outlived SIGKILL, for people."""
    return f"still there after SIGKILL: process {', '.join(map(process_text, processes[:8]))}"


async def supervise(arguments: tuple[str, ...]) -> int:
    """Run the supervisor."""
    try:
        mine = settings.read(os.environ, arguments, Path(__file__).resolve().parent)
        return await Supervisor(mine).run()
    except settings.ContractError as error:
        sys.stderr.write(f"lockstep: {words.BAD_CONTRACT}: {error}\n")
        return 64


def main() -> None:
    """Run, then end at once: neither a thread nor a task that still waits for something dead holds the end up.

    So not by ``asyncio.run``: it waits for every task that it cancels, and before Python 3.12 one whose
    ``wait_for`` is done at that moment goes on instead (python/cpython#86296).
    """
    arguments = sys.argv[1:]
    work = supervise(tuple(arguments[1:] if arguments[:1] == ["--"] else arguments))
    code = asyncio.new_event_loop().run_until_complete(work)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
