"""What the supervisor tells people: one line per event, and the same names as metrics."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from group import words
from group.status import family

if TYPE_CHECKING:
    from supervisor import Supervisor

REPEAT = 5.0  # seconds between two lines of one wait, at first
REPEAT_MOST = 30.0


class Report:
    """Writes the log and counts for the metrics.

    Parameters
    ----------
    rank
        This rank.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.shown: tuple[str, str, str] = ("", "", "")
        self.since = self.counted = time.monotonic()
        self.next = 0.0
        self.repeat = REPEAT
        self.state = words.JOINING
        self.seconds = dict.fromkeys(words.STATES, 0.0)
        self.stops: dict[str, int] = {}

    def line(self, text: str) -> None:
        """Write one line."""
        sys.stderr.write(f"lockstep: {text}\n")
        sys.stderr.flush()

    def event(self, state: str, reason: str, detail: str) -> None:
        """Say what happened."""
        named = f" reason={reason}" if reason else ""
        self.line(f"rank={self.rank} state={state}{named}" + (f": {detail}" if detail else ""))

    def note(self, text: str) -> None:
        """Say something beside the states."""
        self.event(self.state, "", text)

    def stopped(self, reason: str) -> None:
        """Count a stop of this rank's engine."""
        self.stops[reason] = self.stops.get(reason, 0) + 1

    def look(self, state: str, incarnation: str, reason: str, detail: str) -> None:
        """Say what is new, and now and then what is still waited for."""
        now = time.monotonic()
        self.seconds[self.state] += now - self.counted
        self.counted = now
        self.state = state
        new = (state, incarnation, reason) != self.shown
        if new:
            self.shown, self.since, self.repeat = (state, incarnation, reason), now, REPEAT
        elif now < self.next or state == words.SERVING:
            return
        else:
            self.repeat = min(REPEAT_MOST, 1.5 * self.repeat)
        self.next = now + self.repeat
        waited = "" if new else f" (for {now - self.since:.0f} s)"
        self.event(state, reason, f"incarnation {incarnation}" + (f", {detail}" if detail else "") + waited)

    def metrics(self, rank: Supervisor) -> str:
        """Return everything as Prometheus text."""
        _, reason, _ = rank.situation()
        leader, vitals = rank.leader, rank.vitals
        known = leader.incarnation if leader else rank.member.incarnation if rank.member else None
        refused = [knock.refusal.reason for knock in leader.knocks.values()] if leader else []
        refused += [rank.refused.reason] if rank.refused else []
        times = os.times()
        pages = [
            family(
                "lockstep_state",
                "gauge",
                "1 for the state of the group, as this rank knows it",
                [({"state": state}, state == rank.state) for state in words.STATES],
            ),
            family(
                "lockstep_waiting",
                "gauge",
                "1 for what is waited for",
                [({"reason": reason}, 1)] if reason in words.WAITS else [],
            ),
            family(
                "lockstep_refused",
                "gauge",
                "1 for each reason for which a pod is not let into the group",
                [({"reason": each}, 1) for each in sorted(set(refused))],
            ),
            family("lockstep_ready", "gauge", "Whether /ready says yes", [({}, rank.answer("/ready")[0] == 200)]),
            family("lockstep_ranks", "gauge", "Ranks of the group", [({}, rank.mine.nodes)]),
            family(
                "lockstep_incarnation",
                "gauge",
                "Counter of the incarnation; the epoch names the leader's process",
                [({"epoch": known.epoch}, known.counter)] if known else [],
            ),
            family(
                "lockstep_engine_stops_total",
                "counter",
                "Stops of this rank's engine",
                [({"reason": each}, count) for each, count in self.stops.items()],
            ),
            family(
                "lockstep_state_seconds_total",
                "counter",
                "Seconds in each state",
                [({"state": state}, seconds) for state, seconds in self.seconds.items()],
            ),
            family(
                "lockstep_dropped_total",
                "counter",
                "Connections that were dropped",
                [
                    ({"port": port, "reason": each}, count)
                    for port, door in (("membership", rank.door), ("status", rank.status.door))
                    for each, count in door.drops.items()
                ],
            ),
            family(
                "process_cpu_seconds_total",
                "counter",
                "CPU seconds of the supervisor itself",
                [({}, times.user + times.system)],
            ),
        ]
        if leader:
            pages += [
                family("lockstep_ranks_here", "gauge", "Ranks that have joined", [({}, len(leader.slots))]),
                family(
                    "lockstep_restarts_total",
                    "counter",
                    "Restarts of the group",
                    [({"reason": each}, count) for each, count in leader.restarts.items()],
                ),
            ]
        if vitals:
            pages += [
                family(
                    "lockstep_probes_total",
                    "counter",
                    "One-token completions since the engine started",
                    [({}, vitals.asked_total)],
                ),
                family("lockstep_probe_seconds", "gauge", "Duration of the last one", [({}, vitals.answer_seconds)]),
            ]
        return "".join(pages)
