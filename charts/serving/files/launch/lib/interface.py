"""Print the network interface of this pod: ``interface.py POD_IP [NAME]``.

Engine images have no ``ip`` command, so the kernel is asked. A NAME that is given only has to exist.
"""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SIOCGIFCONF = 0x8912  # linux/sockios.h
IFREQ = 40  # bytes of one struct ifreq on 64-bit Linux: name[16], then a sockaddr


def ipv4_holders() -> Iterator[tuple[str, Address]]:
    """Yield (interface, address) of every IPv4 address, also of second ones."""
    room = array.array("B", bytes(IFREQ * 256))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("iL", len(room), room.buffer_info()[0])
        (filled, _) = struct.unpack("iL", fcntl.ioctl(asked, SIOCGIFCONF, request))
    for start in range(0, filled, IFREQ):
        entry = room[start : start + IFREQ].tobytes()
        yield entry[:16].split(b"\0")[0].decode().split(":")[0], ipaddress.ip_address(entry[20:24])


def ipv6_holders() -> Iterator[tuple[str, Address]]:
    """Yield (interface, address) of every IPv6 address."""
    table = Path("/proc/net/if_inet6")
    for line in table.read_text().splitlines() if table.exists() else []:
        address, *_, interface = line.split()
        yield interface, ipaddress.ip_address(bytes.fromhex(address))


def interface(pod_ip: str, name: str) -> str:
    """Return the interface's name, or end with one sentence that says what is wrong."""
    here = ", ".join(each for _, each in socket.if_nameindex())
    if name:
        if name not in here.split(", "):
            sys.exit(f"lockstep: network.interface is {name!r}, but this pod has only: {here}")
        return name
    try:
        wanted = ipaddress.ip_address(pod_ip)
    except ValueError:
        sys.exit(f"lockstep: LOCKSTEP_POD_IP is {pod_ip!r}: that is no IP address")
    if wanted.is_loopback:  # all of 127.0.0.0/8 is local without being listed
        return "lo"
    for holder, address in (*ipv4_holders(), *ipv6_holders()):
        if address == wanted:
            return holder
    sys.exit(
        f"lockstep: no interface of this pod holds {pod_ip} (LOCKSTEP_POD_IP); it has: {here}. "
        "Set network.interface to the one that reaches the other nodes."
    )


sys.stdout.write(interface(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
