"""Wait for what controllers do: for a condition of the objects themselves, never for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# Seconds. A simulated group needs two, a group of real pods half a minute; a busy machine needs much more.
SIMULATED, REAL = 90.0, 240.0
LIMIT = SIMULATED
CALM = 2.5


def eventually(what: str, look: Callable[[], T], limit: float | None = None) -> T:
    """Look until something true is seen, and return it.

    Raises
    ------
    AssertionError
        Nothing true was seen within ``limit`` seconds (``LIMIT``); the message holds the last thing seen.
    """
    limit = LIMIT if limit is None else limit
    deadline = time.monotonic() + limit
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"waited {limit:.0f} s for {what}; last seen: {seen!r}"
        time.sleep(0.2)


def calm(what: str, look: Callable[[], T]) -> T:
    """Look until the same is seen for ``CALM`` seconds: controllers that react to each other have come to rest."""
    deadline = time.monotonic() + LIMIT
    seen, since = look(), time.monotonic()
    while time.monotonic() - since < CALM:
        assert time.monotonic() < deadline, f"waited {LIMIT:.0f} s for {what} to stop changing; last seen: {seen!r}"
        time.sleep(0.2)
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()
    return seen
