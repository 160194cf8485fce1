"""Units of memory."""

from __future__ import annotations

__all__ = ["GIB", "gib"]

GIB = 1 << 30


def gib(count: float) -> str:
    """Write bytes as GiB with one decimal, the unit that engines print."""
    return f"{count / GIB:.1f} GiB"
