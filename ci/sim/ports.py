"""Free TCP ports on the loopback interface."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Below the range from which Linux takes the ports of outgoing connections: one of those could take a port between the
# moment it was found free and the moment its process binds it.
RANGE = range(20000, 32000)


def free(names: Sequence[str]) -> dict[str, int]:
    """Choose a different free port for each name."""
    candidates = iter(random.SystemRandom().sample(RANGE, len(RANGE)))
    chosen: dict[str, int] = {}
    with ExitStack() as held:  # all at once, so that no port is chosen twice
        for name in names:
            chosen[name] = next(port for port in candidates if hold(port, held))
    return chosen


def hold(port: int, held: ExitStack) -> bool:
    """Bind the port until ``held`` ends; False when something has it."""
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        return False
    held.callback(listener.close)
    return True
