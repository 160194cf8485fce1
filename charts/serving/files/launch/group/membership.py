"""Membership and fencing of one group: messages and a clock in, messages and actions out.

Nothing here opens a socket, starts a process or reads a clock, so that all of it can be run through
every order of events (``tests/supervisor/test_model.py`` does).

Every rank has a `Member`: it owns the rank's engine. Rank 0 has a `Leader` too: it decides. Both
speak in states, not in events: a `Beat` says what a member has now, an `Order` what it shall have
now. A lost, doubled or late message therefore changes nothing but the time.

An *incarnation* is one life of all engines of the group: (epoch, counter). The epoch is the random
name of the leader's process; the counter grows whenever the leader gives an incarnation up. Two
rules keep incarnations apart:

*Lease.* A member's engine may live until ``deadline`` after the member **sent** the newest beat that
its leader has answered. Answers carry that time back, so a late answer lengthens nothing, and only
the member's own clock counts.

*Fence.* The leader starts the next incarnation only when every process that may hold an engine of an
older one has said that it holds none **and** knows of the new counter (an order for the old one that
is still under way would be refused), or could not have one any more: ``deadline`` for the lease,
``kill`` for the stop, and a margin, after the last beat that was answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Union

from group import words

NEVER = float("-inf")


class Incarnation(NamedTuple):
    """One life of all engines of a group."""

    epoch: str
    counter: int


class Timing(NamedTuple):
    """The durations that decide, in seconds; all clocks are monotonic and local."""

    heartbeat: float
    deadline: float
    start: float
    stable: float
    propagation: float
    drain: float
    max_restarts: int

    @property
    def grace(self) -> float:
        """How long a peer may be without a connection: a living one is back at once."""
        return min(self.deadline, 1.5 * self.heartbeat)

    @property
    def kill(self) -> float:
        """How long a killed process tree may take to vanish (device memory is given back)."""
        return 2 * self.deadline

    @property
    def fence(self) -> float:
        """How long after its last beat a silent rank's engine may live; the last part is for drifting clocks."""
        return self.deadline + self.kill + self.deadline / 5

    @property
    def farewell(self) -> float:
        """The longest life of a process after SIGTERM: less than the pod's grace period (the sum + 30 s)."""
        return self.propagation + self.drain + min(10.0, self.kill)


class Hello(NamedTuple):
    """Who a process is. The last three must be the same on all ranks."""

    group: str
    rank: int
    nodes: int
    boot: str
    pod: str
    uid: str
    launch: str
    layout: str
    version: str


class Refusal(NamedTuple):
    """Why a rank is not let in."""

    reason: str
    detail: str


STOPPED, ALIVE, ENDING = "stopped", "alive", "ending"  # of one rank's engine: nothing, all of it, the remains


class Beat(NamedTuple):
    """What a member has now."""

    boot: str
    sent: float
    incarnation: Incarnation | None  # the newest it knows of: it obeys no older one
    ran: Incarnation | None  # the newest whose engine it started
    engine: str
    answering: bool
    idle: bool
    prepared: bool
    leaving: bool
    hurry: bool
    reason: str
    detail: str


HOLD, PREPARE, RUN, QUIT = "hold", "prepare", "run", "quit"


class Order(NamedTuple):
    """What a member shall have now: no engine, its hooks done, an engine of this incarnation, its end."""

    echo: float
    incarnation: Incarnation
    verb: str
    state: str
    reason: str  # why the last incarnation ended
    detail: str
    wait: str  # what the next one waits for
    wait_detail: str


class Start(NamedTuple):
    """Start the engine, of this incarnation."""

    incarnation: Incarnation


class Stop(NamedTuple):
    """Stop the engine's whole tree; gently is TERM first."""

    gently: bool
    reason: str
    detail: str


class RunHooks(NamedTuple):
    """Run the preLaunch hooks."""


class Exit(NamedTuple):
    """End the supervisor."""

    code: int
    reason: str


Action = Union[Start, Stop, RunHooks, Exit]


class Member:
    """One rank: holds at most one engine, and none without a living leader's word.

    Parameters
    ----------
    boot
        Random name of this process.
    timing
        The durations.
    prepared
        Whether this container's hooks have run.
    """

    def __init__(self, boot: str, timing: Timing, *, prepared: bool = False) -> None:
        self.boot = boot
        self.timing = timing
        self.state = words.JOINING
        self.incarnation: Incarnation | None = None
        self.ran: Incarnation | None = None
        self.engine = STOPPED
        self.answering = False
        self.idle = False
        self.prepared = prepared
        self.preparing = False
        self.lease = NEVER
        self.leaving: float | None = None
        self.hurry = False
        self.quit = False
        self.waiting = Refusal("", "")
        self.reason = ""
        self.detail = ""
        self.actions: list[Action] = []

    def beat(self, now: float) -> Beat:
        """Return what this rank has now."""
        return Beat(
            self.boot,
            now,
            self.incarnation,
            self.ran,
            self.engine,
            self.answering,
            self.idle,
            self.prepared,
            self.leaving is not None,
            self.hurry,
            self.reason,
            self.detail,
        )

    def on_order(self, order: Order, now: float) -> None:
        """Obey the leader, unless its word is late or overtaken by a newer one."""
        lease = order.echo + self.timing.deadline
        if lease <= now or self._overtaken(order.incarnation):
            return
        self.lease = max(self.lease, lease)
        self.incarnation = order.incarnation
        self.state = order.state
        self.waiting = Refusal(order.wait, order.wait_detail)
        if order.verb == QUIT:
            self.quit = True
        if self.engine == ALIVE and self.ran != order.incarnation:
            self._stop(order.reason or words.NEW_INCARNATION, order.detail, gently=order.reason == words.DRAINED)
        elif order.verb == PREPARE and not self.prepared and not self.preparing:
            self.preparing = True
            self.actions.append(RunHooks())
        elif order.verb == RUN and self._may_start(order.incarnation):
            self.ran = order.incarnation
            self.engine = ALIVE
            self.answering = self.idle = False
            self.reason = self.detail = ""
            self.actions.append(Start(order.incarnation))
        self.tick(now)

    def _overtaken(self, incarnation: Incarnation) -> bool:
        known = self.incarnation
        return known is not None and known.epoch == incarnation.epoch and known.counter > incarnation.counter

    def _may_start(self, incarnation: Incarnation) -> bool:
        return self.engine == STOPPED and self.prepared and self.leaving is None and self.ran != incarnation

    def on_link_lost(self, now: float) -> None:
        """Take note that the connection to the leader ended: a living leader lets us in again at once."""
        self.lease = min(self.lease, now + self.timing.grace)

    def on_prepared(self) -> None:
        """Take note that the hooks have run."""
        self.prepared = True

    def on_answer(self) -> None:
        """Take note that the engine serves."""
        self.answering = self.engine == ALIVE

    def on_idle(self, idle: bool) -> None:
        """Take note whether the engine has requests to finish."""
        self.idle = idle

    def on_fault(self, reason: str, detail: str) -> None:
        """Give the engine up: it ended, or is of no more use."""
        if self.engine == ALIVE:
            self._stop(reason, detail, gently=False)

    def on_stopped(self) -> None:
        """Take note that nothing of the engine is left."""
        self.engine = STOPPED
        self.answering = False

    def on_terminate(self, now: float) -> None:
        """Take note of SIGTERM: the first asks for a drain, the second for an end."""
        if self.leaving is None:
            self.leaving = now
            return
        self.hurry = True
        if self.engine != STOPPED:
            self._stop(words.TERMINATED, "second SIGTERM", gently=False)

    def tick(self, now: float) -> None:
        """Let time pass: an engine without a lease dies."""
        if self.engine == ALIVE and now >= self.lease:
            self._stop(words.LEADER_SILENT, "no word from the leader", gently=False)
        if self.leaving is not None and self.engine == ALIVE and now >= self.leaving + self.timing.farewell:
            self._stop(words.TERMINATED, "the drain's time is up", gently=False)
        if now >= self.lease:
            self.state = words.JOINING if self.engine == STOPPED else words.STOPPING

    def _stop(self, reason: str, detail: str, *, gently: bool) -> None:
        self.engine = ENDING
        self.answering = False
        self.reason, self.detail = reason, detail
        self.actions.append(Stop(gently, reason, detail))

    def take(self) -> list[Action]:
        """Return what is to be done, once. A worker ends here; rank 0 ends when its `Leader` says so."""
        actions, self.actions = self.actions, []
        return actions

    def finished(self) -> Exit | None:
        """Return how this rank ends, when it has nothing left to stop and was told to end."""
        if self.engine != STOPPED:
            return None
        if self.leaving is not None:
            return Exit(0, words.TERMINATED)
        return Exit(1, words.GAVE_UP) if self.quit else None


@dataclass
class Slot:
    """A process that was let in: it holds a rank."""

    hello: Hello
    heard: float  # when its newest beat arrived
    beat: Beat | None = None
    gone: float | None = None  # when its connection ended


class Ghost(NamedTuple):
    """A process that was lost without a word: until then its engine may live."""

    uid: str
    until: float


class Knock(NamedTuple):
    """A process that was not let in."""

    hello: Hello
    refusal: Refusal
    at: float


class Leader:
    """The membership of one group, kept by rank 0.

    Parameters
    ----------
    hello
        Rank 0's own identity; its ``boot`` is the epoch.
    timing
        The durations.
    now
        This process's clock.
    heir
        Whether a leader before it, in this pod, has told ranks to start their engines.
    """

    def __init__(self, hello: Hello, timing: Timing, now: float, *, heir: bool = False) -> None:
        self.hello = hello
        self.timing = timing
        self.heir = heir
        self.born = now
        self.counter = 1
        self.phase = HOLD
        self.slots: dict[int, Slot] = {0: Slot(hello, now)}
        self.ghosts: dict[str, Ghost] = {}
        self.knocks: dict[int, Knock] = {}
        self.waiting = Refusal(words.RANK_MISSING, "")
        self.ran_at: float | None = None  # when the engines were last told to start
        self.served_at: float | None = None  # when they first answered
        self.drain_at: float | None = None  # when a drain began
        self.end_at: float | None = None  # when the drained, or failed, engines were told to end
        self.failures = 0
        self.restarts: dict[str, int] = {}
        self.reason = ""
        self.detail = ""

    @property
    def incarnation(self) -> Incarnation:
        """The incarnation that is wanted now."""
        return Incarnation(self.hello.boot, self.counter)

    @property
    def state(self) -> str:
        """The state of the group, by its public name."""
        if self.phase == QUIT:
            return words.FAILED
        if self.drain_at is not None:
            return words.DRAINING
        if self.phase == RUN:
            return words.STARTING if self.served_at is None else words.SERVING
        if self.phase == PREPARE:
            return words.PREPARING
        return words.STOPPING if self.waiting.reason in (words.RANK_STOPPING, words.FENCE) else words.ASSEMBLING

    # Who comes and goes.

    def admit(self, hello: Hello, now: float) -> Refusal | None:
        """Let a process in, or return why not. Those who are in are not disturbed by one who is not."""
        refusal = self._refusal(hello, now)
        if refusal:
            rank = hello.rank if 0 <= hello.rank < self.hello.nodes else -1
            self.knocks[rank] = Knock(hello, refusal, now)
            return refusal
        self.knocks.pop(hello.rank, None)
        slot = self.slots.get(hello.rank)
        if slot and slot.hello.boot == hello.boot:
            slot.gone = None
            return None
        if slot:
            self._lose(hello.rank, words.RANK_REPLACED, f"rank {hello.rank} came back as a new process", now)
        # A pod's container starts again only when nothing of its last life is left, so it vouches for that.
        self.ghosts = {
            boot: ghost for boot, ghost in self.ghosts.items() if boot != hello.boot and ghost.uid != hello.uid
        }
        self.slots[hello.rank] = Slot(hello, now)
        self.tick(now)
        return None

    def _refusal(self, hello: Hello, now: float) -> Refusal | None:
        mine, slot = self.hello, self.slots.get(hello.rank)
        if hello.nodes != mine.nodes or not 0 <= hello.rank < mine.nodes:
            return Refusal(
                words.COUNT_DIFFERS,
                f"pod {hello.pod} is rank {hello.rank} of {hello.nodes}, the leader counts {mine.nodes} nodes",
            )
        if slot and slot.hello.boot != hello.boot and slot.hello.uid != hello.uid and not self._silent(slot, now):
            return Refusal(words.DUPLICATE_RANK, f"pods {slot.hello.pod} and {hello.pod} both claim rank {hello.rank}")
        for reason, theirs, ours in (
            (words.LAUNCH_DIFFERS, hello.launch, mine.launch),
            (words.LAYOUT_DIFFERS, hello.layout, mine.layout),
            (words.VERSION_DIFFERS, hello.version, mine.version),
        ):
            if theirs != ours:
                return Refusal(reason, f"rank {hello.rank} has {theirs or 'none'}, the leader has {ours or 'none'}")
        return None

    def holds(self, rank: int, boot: str) -> bool:
        """Return whether a process has this rank. One that was given up must say hello again."""
        slot = self.slots.get(rank)
        return slot is not None and slot.hello.boot == boot

    def on_beat(self, rank: int, beat: Beat, now: float) -> None:
        """Take note of what a member has."""
        slot = self.slots.get(rank)
        if slot is None or slot.hello.boot != beat.boot or (slot.beat and beat.sent < slot.beat.sent):
            return
        slot.beat, slot.heard = beat, now
        self.tick(now)

    def on_link_lost(self, rank: int, boot: str, now: float) -> None:
        """Take note that a member's connection ended: a living one is back at once."""
        slot = self.slots.get(rank)
        if slot and slot.hello.boot == boot and slot.gone is None:
            slot.gone = now

    def _silent(self, slot: Slot, now: float) -> bool:
        timing = self.timing
        return now - slot.heard > timing.deadline or (slot.gone is not None and now - slot.gone > timing.grace)

    def _clear(self, slot: Slot) -> bool:
        """Whether a member has said that it holds no engine and will start none but of this incarnation."""
        beat = slot.beat
        return (
            self.phase != RUN and beat is not None and beat.engine == STOPPED and beat.incarnation == self.incarnation
        )

    def _lose(self, rank: int, reason: str, detail: str, now: float) -> None:
        slot = self.slots.pop(rank)
        if not self._clear(slot):
            self.ghosts[slot.hello.boot] = Ghost(slot.hello.uid, slot.heard + self.timing.fence)
        if self.phase == RUN:
            self._give_up_incarnation(reason, detail, now)

    # What the group does.

    def order(self, rank: int) -> Order | None:
        """Return what a member shall have now; None for one that never spoke."""
        slot = self.slots.get(rank)
        if slot is None or slot.beat is None:
            return None
        incarnation = self.incarnation
        if rank and self.drain_at is not None and self.phase == HOLD and not self._clear(self.slots[0]):
            # The end of a drain: workers outlive the leader, whose last answers may need them.
            incarnation = incarnation._replace(counter=self.counter - 1)
        return Order(slot.beat.sent, incarnation, self.phase, self.state, self.reason, self.detail, *self.waiting)

    def tick(self, now: float) -> None:
        """Let time pass, and take whatever step has become possible."""
        for rank, slot in list(self.slots.items()):
            if rank and self._silent(slot, now):
                self._lose(rank, words.RANK_SILENT, f"rank {rank} ({slot.hello.pod}) is silent", now)
        self.ghosts = {boot: ghost for boot, ghost in self.ghosts.items() if ghost.until > now}
        self.knocks = {rank: knock for rank, knock in self.knocks.items() if knock.at + self.timing.deadline > now}
        if self.phase == RUN:
            self._watch(now)
        if self.phase in (HOLD, PREPARE):
            self._gather(now)

    def _watch(self, now: float) -> None:
        """Look after the running incarnation."""
        beats = {rank: slot.beat for rank, slot in sorted(self.slots.items()) if slot.beat}
        running = {rank: beat for rank, beat in beats.items() if beat.ran == self.incarnation}
        for rank, beat in running.items():
            if beat.engine != ALIVE:
                self._give_up_incarnation(beat.reason, f"rank {rank}: {beat.detail}", now)
                return
        answering = [beat for beat in running.values() if beat.answering]
        if self.served_at is None and len(answering) == self.hello.nodes:
            self.served_at = now
        if self.drain_at is None and any(beat.leaving for beat in beats.values()):
            self.drain_at = now
        if self.drain_at is not None:
            out = self.drain_at + self.timing.propagation
            calm = now >= out and all(beat.idle for beat in running.values())
            late = now >= out + self.timing.drain or any(beat.hurry for beat in beats.values())
            if self.served_at is None or calm or late:
                self._end_incarnation(words.DRAINED, "requests ended" if calm else "not all requests ended", now)
        elif self.served_at is None and self.ran_at is not None and now >= self.ran_at + self.timing.start:
            self._give_up_incarnation(words.START_TIMEOUT, f"no answer in {self.timing.start:g} s", now)

    def _give_up_incarnation(self, reason: str, detail: str, now: float) -> None:
        """Answer a fault. In a drain it ends the drain; else it counts as a restart."""
        if self.drain_at is not None:
            self._end_incarnation(words.DRAINED, f"cut short: {reason}, {detail}", now)
            return
        if self.served_at is not None and now - self.served_at >= self.timing.stable:
            self.failures = 0
        self.failures += 1
        self.restarts[reason] = self.restarts.get(reason, 0) + 1
        self._end_incarnation(reason, detail, now)
        if self.failures > self.timing.max_restarts:
            self.phase = QUIT

    def verdict(self) -> str:
        """Return what became of the last incarnation, for people."""
        if self.reason == words.DRAINED:
            return self.detail
        return f"{self.detail}; restart {self.failures}, of {self.timing.max_restarts} in a row"

    def _end_incarnation(self, reason: str, detail: str, now: float) -> None:
        self.counter += 1
        self.phase = HOLD
        self.end_at = now
        self.served_at = None
        self.reason, self.detail = reason, detail

    def _gather(self, now: float) -> None:
        """Wait until the next incarnation may start, and start it."""
        if self.drain_at is not None and self._ended(now):
            self.drain_at = None
        self.phase = HOLD
        wait = self._obstacle(now)
        if wait is None and self.drain_at is None:
            if all(slot.beat and slot.beat.prepared for slot in self.slots.values()):
                self.phase = RUN
                self.waiting = Refusal("", "")
                self.ran_at = now
                self.reason = self.detail = ""
                return
            self.phase = PREPARE
            late = [str(rank) for rank, slot in sorted(self.slots.items()) if slot.beat and not slot.beat.prepared]
            wait = Refusal(words.HOOKS, f"on rank {', '.join(late)}")
        if wait:
            self.waiting = wait

    def _ended(self, now: float) -> bool:
        """Whether the engines that were told to end have ended, as far as they can tell."""
        late = self.end_at is not None and now >= self.end_at + self.timing.kill
        return late or all(self._clear(slot) for slot in self.slots.values())

    def _obstacle(self, now: float) -> Refusal | None:
        """Return what stands against a start."""
        beats = {rank: slot.beat for rank, slot in sorted(self.slots.items())}
        stopping = [str(rank) for rank, beat in beats.items() if beat and beat.engine != STOPPED]
        if stopping:
            return Refusal(words.RANK_STOPPING, f"rank {', '.join(stopping)}")
        missing = [
            str(rank)
            for rank in range(self.hello.nodes)
            if rank not in beats or not self._clear(self.slots[rank]) or self._leaving(rank)
        ]
        refused = "; ".join(f"{knock.refusal.reason}: {knock.refusal.detail}" for knock in self.knocks.values())
        if missing:
            here = f"{self.hello.nodes - len(missing)} of {self.hello.nodes} ranks are here, missing"
            return Refusal(
                words.RANK_MISSING, f"{here} rank {', '.join(missing)}" + (f" ({refused})" if refused else "")
            )
        if refused:
            return Refusal(words.RANK_REFUSED, refused)
        until = max([ghost.until for ghost in self.ghosts.values()], default=NEVER)
        if self._strangers():
            until = max(until, self.born + self.timing.fence)
        if until <= now:
            return None
        return Refusal(words.FENCE, f"a lost rank's engine may live {self.timing.fence:g} s after its last word")

    def _leaving(self, rank: int) -> bool:
        beat = self.slots[rank].beat
        return beat is not None and beat.leaving

    def _strangers(self) -> bool:
        """Whether another leader's incarnation may have members that this leader does not know.

        All its workers are known when as many as it had come with one and the same memory of it.
        """
        if self.ran_at is not None:
            return False
        memories = [slot.beat.ran for rank, slot in self.slots.items() if rank and slot.beat and slot.beat.ran]
        complete = len(memories) == self.hello.nodes - 1 and len(set(memories)) <= 1
        return not complete and (self.heir or bool(memories))

    def finished(self, now: float) -> Exit | None:
        """Return how rank 0 ends, when its own engine is stopped and the others had the time to stop theirs."""
        me = self.slots[0].beat
        if me is None or me.engine != STOPPED or self.phase == RUN:
            return None
        if self.phase == QUIT:
            return Exit(1, words.GAVE_UP) if self._ended(now) else None
        if me.leaving and (self.drain_at is None or me.hurry):
            return Exit(0, words.TERMINATED)
        return None
