"""The core of membership and fencing, run through every order of events, and through long random ones.

Exhaustive here: two ranks and one fault (of seven kinds, at any time, beside any loss and delay of
messages): all states are visited, in none of them a rule is broken, and from each of them the group
serves again once faults end. ``python -m tests.supervisor.soak model RANKS FAULTS`` goes further.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from .world import FOREVER, Broken, Short, World, core, explore, moves

if TYPE_CHECKING:
    from collections.abc import Callable

Patch = pytest.MonkeyPatch


def test_two_ranks_one_fault() -> None:
    """Every order of events keeps the rules and ends in serving."""
    assert explore(2, 1) > 10_000


def no_fence(patch: Patch) -> None:
    """Wait for the lease of a lost rank, but not for its kill."""
    patch.setattr(Short, "fence", 2)


def no_acknowledgement(patch: Patch) -> None:
    """Take a rank without an engine for stopped, though an order to start one may be under way."""
    patch.setattr(
        core.Leader,
        "_clear",
        lambda self, slot: self.phase != core.RUN and slot.beat and slot.beat.engine == core.STOPPED,
    )


def late_lease(patch: Patch) -> None:
    """Count a lease from when the leader's word arrived."""
    obey = core.Member.on_order
    patch.setattr(core.Member, "on_order", lambda self, order, now: obey(self, order._replace(echo=now), now))


def no_lease(patch: Patch) -> None:
    """Let an engine live on without its leader."""
    tick = core.Member.tick

    def forever(self: core.Member, now: float) -> None:
        self.lease = FOREVER
        tick(self, now)

    patch.setattr(core.Member, "tick", forever)


def forgotten_ghosts(patch: Patch) -> None:
    """Let a rank's successor clear its predecessor, wherever that ran."""
    admit = core.Leader.admit

    def forget(self: core.Leader, hello: core.Hello, now: float) -> core.Refusal | None:
        refusal = admit(self, hello, now)
        if refusal is None:
            self.ghosts = {}
        return refusal

    patch.setattr(core.Leader, "admit", forget)


def started_twice(patch: Patch) -> None:
    """Let a rank start the engine of one incarnation again."""
    patch.setattr(core.Member, "_may_start", lambda self, _: self.engine == core.STOPPED and self.leaving is None)


def disobedience(patch: Patch) -> None:
    """Let a rank obey an order that was overtaken."""
    patch.setattr(core.Member, "_overtaken", lambda *_: False)


def deafness(patch: Patch) -> None:
    """Let a leader never notice that a rank is gone."""
    patch.setattr(core.Leader, "_silent", lambda *_: False)


@pytest.mark.parametrize(
    ("breakage", "depth"),
    [
        *((one, 1) for one in (no_fence, no_acknowledgement, late_lease, no_lease, forgotten_ghosts, started_twice)),
        (disobedience, 2),
        (deafness, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_rule_is_needed(breakage: Callable[[Patch], None], depth: int, monkeypatch: Patch) -> None:
    """Without any one of its rules the core breaks, and the model sees it."""
    breakage(monkeypatch)

    with pytest.raises(Broken):
        explore(2, 1, depth=depth, most=60_000)


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_random_events(ranks: int, seed: int) -> None:
    """Many faults after each other, doubled and reordered messages: the rules hold, and the group serves again."""
    chance = random.Random(1000 * ranks + seed)
    world = World(ranks, depth=2)
    for _ in range(300):
        # Faults are one kind of event among many; a cut-off process stays one for ever, so few of those.
        few = len(world.processes) < ranks + 6 and chance.random() < 0.15
        choices = [after for name, after, _ in moves(world, int(few)) if few or "replaced" not in name]
        world = chance.choice(choices)

    assert world.heal()
