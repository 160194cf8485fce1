"""Who is connected to the engine's port: a request without a connection is nobody's, so none there means none runs.

An engine closes a connection that has been idle for some seconds (uvicorn's keep-alive: 5).
"""

from __future__ import annotations

import ipaddress
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN = "0A"
OPEN = frozenset({"01", "08"})  # established, or closed by a client that may still read


def connections(port: int, bind: str) -> int | None:
    """Count the connections to a port of this network namespace.

    Parameters
    ----------
    port
        Where the engine listens.
    bind
        The address that it was told to listen on. Pods that share a namespace, in a rehearsal, have one each.

    Returns
    -------
    int | None
        None where the kernel does not show even that somebody listens: then it shows no connections either.
    """
    count, listening, mine = 0, False, ipaddress.ip_address(bind)
    for table in TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            local, _, state = line.split()[1:4]
            address, _, number = local.partition(":")
            if int(number, 16) == port and (mine.is_unspecified or _decoded(address) == mine):
                listening = listening or state == LISTEN
                count += state in OPEN
    return count if listening else None


def _decoded(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Read an address as the kernel prints it: words of four bytes, the last byte first."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address
