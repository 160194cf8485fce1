"""Wait with a bound, so that a cancellation always arrives.

``asyncio.wait_for`` loses one that comes together with the answer before Python 3.12
(python/cpython#86296): a probe would go on for ever, and who waits for its end with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


async def within(seconds: float, work: Coroutine[object, object, T]) -> T:
    """Return what ``work`` gives.

    Raises
    ------
    asyncio.TimeoutError
        When it takes longer; it has been cancelled then, and has ended.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise asyncio.TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most so long; return whether it has happened."""
    try:
        await within(seconds, event.wait())
    except asyncio.TimeoutError:
        return False
    return True
