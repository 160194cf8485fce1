"""A small world for the pure core: processes, engines, clocks and a network that loses and repeats.

The classes under test are the shipped ones, `group.membership.Member` and `Leader`. What stands around
them here is what they may rely on, and no more:

- A container ends as a whole, and its pod's next container starts only then.
- A living supervisor acts at every tick of the clock; a killed engine vanishes within ``kill``.
- Messages are lost, late, doubled and reordered within a connection; none crosses into another one.
- A pod may be replaced while its old container lives on, cut off (a node that is lost, a pod deleted by
  force); for rank 0 Kubernetes' own promise holds that it runs once.

What must hold at the start of every engine: no other engine of this rank lives, none of another
incarnation does, and this rank has not started this incarnation before.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, NamedTuple

from group import membership as core  # conftest.py puts it on the path

if TYPE_CHECKING:
    from collections.abc import Iterator

FOREVER = 1e9


class Short(core.Timing):
    """Timers of a few ticks, so that everything a timer can do happens soon."""

    grace = 1
    kill = 1
    fence = 4  # the lease, the kill, and one tick, the grain of all clocks here


TIMING = Short(heartbeat=1, deadline=2, start=FOREVER, stable=0, propagation=0, drain=1, max_restarts=10**6)


class Broken(AssertionError):  # noqa: N818 - it is a finding, no error of the program
    """A rule was broken; the message says how it came to that."""


class Wire(NamedTuple):
    """One connection between a worker and the leader: what is under way in each direction."""

    beats: tuple[core.Beat, ...] = ()
    orders: tuple[core.Order, ...] = ()


class Process:
    """A supervisor and its engine."""

    def __init__(self, world: World, rank: int, uid: str, *, heir: bool = False) -> None:
        world.boots += 1
        self.rank = rank
        self.uid = uid
        self.boot = f"{rank}.{world.boots}"
        self.member = core.Member(self.boot, world.timing, prepared=True)
        self.leader: core.Leader | None = None
        self.engine: core.Incarnation | None = None
        self.started: core.Incarnation | None = None
        self.dying = 0.0  # when the engine must have vanished
        self.wire: Wire | None = None
        self.cut = False  # no message reaches it, or leaves it, ever again
        self.ended = False
        if rank == 0:
            self.leader = core.Leader(world.hello(self), world.timing, world.now, heir=heir)


def _twin(thing: Any) -> Any:
    other = object.__new__(type(thing))
    other.__dict__.update(thing.__dict__)
    return other


class World:
    """All of a group.

    Parameters
    ----------
    ranks
        How many.
    timing
        The timers.
    depth
        How many messages are under way in one direction of a connection; a newer one displaces the oldest.
    """

    def __init__(self, ranks: int, timing: core.Timing = TIMING, depth: int = 1) -> None:
        self.ranks = ranks
        self.depth = depth
        self.timing = timing
        self.now = 0.0
        self.boots = 0
        self.processes: list[Process] = []
        self.history: tuple[str, ...] = ()
        for rank in range(ranks):
            self.processes.append(Process(self, rank, f"pod-{rank}"))
        self.turn(self.leader)

    def clone(self) -> World:
        """Return a copy that shares nothing which changes."""
        twin = _twin(self)
        twin.processes = []
        for process in self.processes:
            other = _twin(process)
            other.member = _twin(process.member)
            other.member.actions = []
            if process.leader:
                leader = other.leader = _twin(process.leader)
                leader.slots = {rank: _twin(slot) for rank, slot in leader.slots.items()}
                leader.ghosts = dict(leader.ghosts)
                leader.knocks = dict(leader.knocks)
                leader.restarts = {}
            twin.processes.append(other)
        return twin

    def hello(self, process: Process) -> core.Hello:
        """Return a process's identity."""
        return core.Hello("g", process.rank, self.ranks, process.boot, process.uid, process.uid, "", "", "")

    @property
    def leader(self) -> Process:
        """The process of rank 0."""
        return self.processes[0]

    def current(self, rank: int) -> Process:
        """Return the process that Kubernetes runs as a rank now."""
        return [process for process in self.processes if process.rank == rank and not process.cut][-1]

    # What processes do by themselves.

    def turn(self, process: Process) -> None:
        """Let one process carry out what its core says."""
        if process.ended:
            return
        while True:
            before = process.member.beat(0)
            if process.leader:
                process.leader.on_beat(0, process.member.beat(self.now), self.now)
                order = process.leader.order(0)
                if order:
                    process.member.on_order(order, self.now)
            process.member.tick(self.now)
            for action in process.member.take():
                if isinstance(action, core.Start):
                    self.start_engine(process, action.incarnation)
                elif isinstance(action, core.Stop):
                    process.dying = self.now + self.timing.kill
                    if process.engine is None:
                        process.member.on_stopped()
            if process.member.beat(0) == before:
                break
        end = process.leader.finished(self.now) if process.leader else process.member.finished()
        if end:
            process.ended = True
        if process.leader:
            for other in self.processes:
                if other.wire and not other.cut:
                    self.send_order(other)
        elif process.wire and not process.cut:
            self.send_beat(process)

    def send_beat(self, process: Process) -> None:
        """Put the newest beat under way; two at most are, the older is lost."""
        assert process.wire is not None
        beat = process.member.beat(self.now)
        if not process.wire.beats or process.wire.beats[-1] != beat:
            process.wire = process.wire._replace(beats=(*process.wire.beats, beat)[-self.depth :])

    def send_order(self, process: Process) -> None:
        """Put the newest order under way."""
        assert process.wire is not None
        assert self.leader.leader is not None
        slot = self.leader.leader.slots.get(process.rank)
        order = self.leader.leader.order(process.rank)
        if order and slot and slot.hello.boot == process.boot and process.wire.orders[-1:] != (order,):
            process.wire = process.wire._replace(orders=(*process.wire.orders, order)[-self.depth :])

    def start_engine(self, process: Process, incarnation: core.Incarnation) -> None:
        """Start an engine, if the rules allow it."""
        for other in self.processes:
            if other.engine and (other.rank == process.rank or other.engine != incarnation):
                raise Broken(
                    f"{process.boot} starts {incarnation} while {other.boot} runs {other.engine}:\n  "
                    + "\n  ".join(self.history)
                )
        if process.started == incarnation:
            raise Broken(f"{process.boot} starts {incarnation} twice:\n  " + "\n  ".join(self.history))
        process.engine = process.started = incarnation

    # What happens to them.

    def tick(self, step: float = 1) -> None:
        """Let time pass for all."""
        self.now += step
        for process in self.processes:
            self.turn(process)

    def vanish(self, process: Process) -> None:
        """Let an engine that is being stopped be gone."""
        process.engine = None
        process.member.on_stopped()
        self.turn(process)

    def connect(self, process: Process) -> None:
        """Let a worker say hello to the leader."""
        assert self.leader.leader is not None
        if process.wire:
            self.disconnect(process)
        if self.leader.leader.admit(self.hello(process), self.now) is None:
            for other in self.processes:
                if other.rank == process.rank and other is not process:
                    other.wire = None
            process.wire = Wire()
            self.turn(self.leader)
            self.turn(process)

    def lost(self, process: Process) -> bool:
        """Return whether the leader has given a connected worker up: it then ends the connection."""
        assert self.leader.leader is not None
        slot = self.leader.leader.slots.get(process.rank)
        return process.wire is not None and (slot is None or slot.hello.boot != process.boot)

    def disconnect(self, process: Process) -> None:
        """End a connection at both ends."""
        assert self.leader.leader is not None
        process.wire = None
        process.member.on_link_lost(self.now)
        self.leader.leader.on_link_lost(process.rank, process.boot, self.now)

    def deliver(self, process: Process, way: str, which: int, *, keep: bool) -> None:
        """Deliver a message that is under way, and keep it if it shall come again."""
        assert process.wire is not None
        assert self.leader.leader is not None
        queue = getattr(process.wire, way)
        message = queue[which]
        if not keep:
            process.wire = process.wire._replace(**{way: queue[:which] + queue[which + 1 :]})
        if way == "beats":
            self.leader.leader.on_beat(process.rank, message, self.now)
            self.turn(self.leader)
            if process.wire:
                self.send_order(process)
        else:
            process.member.on_order(message, self.now)
            self.turn(process)

    def fail_engine(self, process: Process) -> None:
        """Let an engine end by itself."""
        process.engine = None
        process.member.on_fault("engine-exit", "")
        self.turn(process)

    def restart(self, process: Process) -> None:
        """End a container; its pod starts the next."""
        for other in self.processes:
            if other.wire and (process.rank == 0 or other is process):
                self.disconnect(other)
        place = self.processes.index(process)
        heir = process.leader is not None and (process.leader.heir or process.leader.ran_at is not None)
        self.processes[place] = Process(self, process.rank, process.uid, heir=heir)
        self.turn(self.processes[place])

    def replace(self, process: Process) -> None:
        """Cut a worker off, where it lives on, and run its rank elsewhere."""
        process.cut = True
        process.wire = None
        self.processes.append(Process(self, process.rank, f"pod-{process.rank}-{self.boots}"))

    def terminate(self, process: Process) -> None:
        """Send SIGTERM."""
        process.member.on_terminate(self.now)
        self.turn(process)

    # Questions.

    def serving(self) -> bool:
        """Return whether every rank runs its engine in the leader's incarnation."""
        leader = self.leader.leader
        assert leader is not None
        return leader.phase == core.RUN and all(
            self.current(rank).engine == leader.incarnation for rank in range(self.ranks)
        )

    def heal(self, known: set[object] | None = None) -> bool:
        """Let nothing go wrong any more; return whether the group serves in the end.

        ``known`` are the keys of states from which it does.
        """
        passed = []
        for _ in range(3 * int(self.timing.fence) + 6):
            if known is not None:
                passed.append(self.key())
            if self.serving() or (known is not None and passed[-1] in known):
                if known is not None:
                    known.update(passed)
                return True
            for process in list(self.processes):
                if process.engine and process.member.engine == core.ENDING:
                    self.vanish(process)
                if process.ended and not process.cut:
                    self.restart(process)
            for rank in range(1, self.ranks):
                process = self.current(rank)
                if self.lost(process):
                    self.disconnect(process)
                if not process.wire:
                    self.connect(process)
                for _ in range(4):
                    for way in ("beats", "orders"):
                        while process.wire and getattr(process.wire, way):
                            self.deliver(process, way, 0, keep=False)
            self.tick()
        return False

    def key(self) -> tuple[object, ...]:
        """Return the state: times relative to now, counters to the leader's, and nothing that decides nothing."""
        names = self._names()
        return tuple(self._process_key(process, names) for process in self.processes)

    def _names(self) -> dict[core.Incarnation | None, int | None]:
        """Return small numbers for incarnations: only their order counts, and which two are the leader's last."""
        found = set()
        for process in self.processes:
            found |= {process.engine, process.member.incarnation, process.member.ran}
            for slot in process.leader.slots.values() if process.leader else ():
                if slot.beat:
                    found |= {slot.beat.incarnation, slot.beat.ran}
            if process.wire:
                found |= {beat.incarnation for beat in process.wire.beats}
                found |= {beat.ran for beat in process.wire.beats}
                found |= {order.incarnation for order in process.wire.orders}
        assert self.leader.leader is not None
        wanted = self.leader.leader.incarnation
        names: dict[core.Incarnation | None, int | None] = {None: None, wanted: 0}
        names[wanted._replace(counter=wanted.counter - 1)] = -1
        for number, old in enumerate(sorted(found - names.keys(), reverse=True)):
            names[old] = -2 - number
        return names

    def _age(self, time: float | None) -> float | None:
        return None if time is None else max(time - self.now, -self.timing.fence)

    def _beat_key(self, beat: core.Beat | None, names: dict[core.Incarnation | None, int | None]) -> object:
        return beat and (
            max(beat.sent - self.now, -self.timing.fence),
            names[beat.incarnation],
            names[beat.ran],
            beat.engine,
            beat.leaving,
            beat.hurry,
        )

    def _process_key(self, process: Process, names: dict[core.Incarnation | None, int | None]) -> tuple[object, ...]:
        member, leader, wire, now, most = process.member, process.leader, process.wire, self.now, self.timing.fence
        led = leader and (
            leader.phase,
            max(leader.born - now, -most),
            leader.ran_at is None,
            leader.heir,
            self._age(leader.drain_at),
            self._age(leader.end_at),
            tuple((boot, ghost.until - now) for boot, ghost in sorted(leader.ghosts.items()) if ghost.until > now),
            tuple(
                (
                    slot.hello.boot,
                    max(slot.heard - now, -most),
                    self._age(slot.gone),
                    self._beat_key(slot.beat, names),
                )
                for _, slot in sorted(leader.slots.items())
            ),
            tuple((rank, knock.at - now) for rank, knock in leader.knocks.items() if now - knock.at < most),
        )
        return (
            process.boot,
            names[process.engine],
            process.engine and max(process.dying - now, -1),
            process.cut,
            process.ended,
            wire
            and (
                *(self._beat_key(beat, names) for beat in wire.beats),
                *((max(order.echo - now, -most), names[order.incarnation], order.verb) for order in wire.orders),
            ),
            names[member.incarnation],
            names[member.ran],
            member.engine,
            max(member.lease - now, 0),
            self._age(member.leaving),
            member.hurry,
            led,
        )


def moves(world: World, faults: int) -> Iterator[tuple[str, World, int]]:
    """Yield everything that can happen next: its name, the world after it, and the faults that are left."""

    def after(
        name: str, index: int, act: str, *arguments: object, cost: int = 0, **options: object
    ) -> tuple[str, World, int]:
        twin = world.clone()
        twin.history = (*world.history, f"{world.now:g} {name}")
        getattr(twin, act)(*([twin.processes[index]] if index >= 0 else []), *arguments, **options)
        return twin.history[-1], twin, faults - cost

    if not any(
        process.engine and process.member.engine == core.ENDING and world.now >= process.dying
        for process in world.processes
    ):
        yield after("tick", -1, "tick")
    for index, process in enumerate(world.processes):
        name = process.boot
        if process.engine and process.member.engine == core.ENDING:
            yield after(f"{name} engine gone", index, "vanish")
        if process.rank and not process.cut and not process.wire and not process.ended:
            yield after(f"{name} connects", index, "connect")
        if world.lost(process):
            yield after(f"{name} is given up", index, "disconnect")
        if process.wire and not process.cut:
            for way in ("beats", "orders"):
                for which in range(len(getattr(process.wire, way))):
                    yield after(f"{name} {way} {which}", index, "deliver", way, which, keep=False)
                    if faults:
                        yield after(f"{name} {way} {which} again", index, "deliver", way, which, keep=True, cost=1)
        if not faults or process.cut:
            continue
        if process.engine and process.member.engine == core.ALIVE:
            yield after(f"{name} engine fails", index, "fail_engine", cost=1)
        yield after(f"{name} restarts", index, "restart", cost=1)
        if process.rank:
            yield after(f"{name} replaced", index, "replace", cost=1)
        if process.wire:
            yield after(f"{name} disconnects", index, "disconnect", cost=1)
        if not process.ended and process.member.leaving is None:
            yield after(f"{name} SIGTERM", index, "terminate", cost=1)


def explore(ranks: int, faults: int, *, depth: int = 1, most: int = 10**9, lively: bool = True) -> int:
    """Go through every order of events; return the number of states.

    Raises
    ------
    Broken
        If a rule is broken in one of them, or a group that is left alone does not serve in the end.
    """
    first = World(ranks, depth=depth)
    seen = {hash((first.key(), faults))}
    lively_states: set[object] = set()
    queue = collections.deque([(first, faults)])
    while queue and len(seen) < most:
        world, left = queue.popleft()
        for _, after, rest in moves(world, left):
            key = hash((after.key(), rest))
            if key in seen:
                continue
            seen.add(key)
            queue.append((after, rest))
            if lively and not after.clone().heal(lively_states):
                raise Broken("left alone, the group never serves again:\n  " + "\n  ".join(after.history))
    return len(seen)
