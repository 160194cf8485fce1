"""How members and their leader talk: signed lines over TCP, bounded in every direction.

The member connects. The leader greets it with a nonce, the member answers with its own nonce and its
`Hello`, and from then on beats go one way and orders the other. A line is ``<signature> <JSON>``. With
a token the signature is an HMAC over both nonces, the direction, the line's number and its text: a
line that is forged, repeated, reordered or of another connection ends the connection. Without a token
the signature is ``-``, and the nonces and the group's name still keep strays apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import secrets
import socket
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from group import words
from group.membership import Hello, Incarnation

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = 4096  # bytes of the longest line
TEXT = 512  # characters of the longest string in it
STRANGERS = 32  # connections that have not said hello yet
BACKLOG = 65536  # bytes that a peer may leave unread


class Dropped(Exception):  # noqa: N818 - not an error of ours
    """A connection is not worth an answer; the reason is one of ``words.DROPS``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= TEXT


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _incarnation(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _text(value[0]) and _count(value[1])


def _maybe_incarnation(value: object) -> bool:
    return value is None or _incarnation(value)


KINDS: dict[str, Callable[[object], bool]] = {
    "str": _text,
    "float": _number,
    "int": _count,
    "bool": _flag,
    "Incarnation": _incarnation,
    "Incarnation | None": _maybe_incarnation,
}


def pack(message: NamedTuple) -> list[Any]:
    """Return a message as JSON can carry it: its type's name, then its fields."""
    return [type(message).__name__, *message]


def unpack(value: Any, *kinds: type) -> Any:
    """Return the message that `pack` packed.

    Raises
    ------
    Dropped
        If it is none of the kinds, or a field is not what the kind says.
    """
    known = {kind.__name__: kind for kind in kinds}
    if not isinstance(value, list) or not value or not isinstance(value[0], str) or value[0] not in known:
        raise Dropped(words.BAD_FRAME)
    kind, items = known[value[0]], value[1:]
    checks = [KINDS[_name(wanted)] for wanted in kind.__annotations__.values()]
    if len(checks) != len(items) or not all(check(item) for check, item in zip(checks, items)):
        raise Dropped(words.BAD_FRAME)
    return kind(*(Incarnation(*item) if isinstance(item, list) else item for item in items))


def _name(annotation: Any) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))


class Channel:
    """One connection.

    Parameters
    ----------
    reader, writer
        Its two ends; the reader's limit is `LINE`.
    token
        The group's secret, empty for none.
    leading
        Whether this end is the leader's.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, *, leading: bool
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.token = token.encode()
        self.nonces = ""
        self.ways = ("order", "beat") if leading else ("beat", "order")
        self.sent = self.received = 0

    def _sign(self, way: str, number: int, text: bytes) -> bytes:
        if not self.token:
            return b"-"
        covered = f"{self.nonces} {way} {number} ".encode() + text
        return hmac.new(self.token, covered, hashlib.sha256).hexdigest().encode()

    def send(self, message: NamedTuple) -> None:
        """Send a message; never waits. A peer that does not read is cut off."""
        text = json.dumps(pack(message), separators=(",", ":")).encode()
        self.writer.write(self._sign(self.ways[0], self.sent, text) + b" " + text + b"\n")
        self.sent += 1
        transport = self.writer.transport
        if transport.get_write_buffer_size() > BACKLOG:
            transport.abort()

    async def line(self, timeout: float) -> bytes:
        """Return the next line.

        Raises
        ------
        Dropped
            If there is none in time, or it is too long.
        """
        try:
            return (await asyncio.wait_for(self.reader.readuntil(b"\n"), timeout))[:-1]
        except asyncio.TimeoutError:
            raise Dropped(words.TOO_SLOW) from None
        except (asyncio.LimitOverrunError, ValueError):
            raise Dropped(words.BAD_FRAME) from None

    async def receive(self, timeout: float, *kinds: type) -> Any:
        """Return the next message.

        Raises
        ------
        Dropped
            If there is none in time, it is not well-formed, or its signature is wrong.
        """
        signature, _, text = (await self.line(timeout)).partition(b" ")
        if not hmac.compare_digest(signature, self._sign(self.ways[1], self.received, text)):
            raise Dropped(words.BAD_TOKEN)
        self.received += 1
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise Dropped(words.BAD_FRAME) from None
        return unpack(value, *kinds)

    def close(self) -> None:
        """End the connection, what was sent first."""
        self.writer.close()


class Doorkeeper:
    """Counts what was dropped, and keeps the number of strangers' connections bounded."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.drops = dict.fromkeys(words.DROPS, 0)
        self.strangers: OrderedDict[asyncio.StreamWriter, None] = OrderedDict()

    def enter(self, writer: asyncio.StreamWriter) -> None:
        """Let a stranger in; the oldest goes when there are too many: who is slow is no rank."""
        self.strangers[writer] = None
        if len(self.strangers) > self.limit:
            oldest, _ = self.strangers.popitem(last=False)
            oldest.transport.abort()
            self.drops[words.TOO_MANY] += 1

    def known(self, writer: asyncio.StreamWriter) -> None:
        """Count a connection no more."""
        self.strangers.pop(writer, None)

    def drop(self, writer: asyncio.StreamWriter, reason: str) -> None:
        """Cut a connection off, and count why."""
        self.drops[reason] += 1
        writer.transport.abort()


async def greet(channel: Channel, group: str, timeout: float) -> Hello:
    """Greet a stranger as the leader, and return who it is.

    Raises
    ------
    Dropped
        If it is not a rank of this group.
    """
    mine = secrets.token_hex(16)
    channel.writer.write(f"lockstep {mine}\n".encode())
    word, _, theirs = (await channel.line(timeout)).partition(b" ")
    if word != b"lockstep" or len(theirs) != 32:
        raise Dropped(words.BAD_FRAME)
    channel.nonces = f"{mine} {theirs.decode('ascii', 'replace')}"
    hello = await channel.receive(timeout, Hello)
    if hello.group != group:
        raise Dropped(words.WRONG_GROUP)
    return hello  # type: ignore[no-any-return]


async def introduce(channel: Channel, hello: Hello, timeout: float) -> None:
    """Greet the leader as a member.

    Raises
    ------
    Dropped
        If it does not speak this protocol.
    """
    mine = secrets.token_hex(16)
    word, _, theirs = (await channel.line(timeout)).partition(b" ")
    if word != b"lockstep" or len(theirs) != 32:
        raise Dropped(words.BAD_FRAME)
    channel.nonces = f"{theirs.decode('ascii', 'replace')} {mine}"
    channel.writer.write(f"lockstep {mine}\n".encode())
    channel.send(hello)


async def dial(host: str, port: int, timeout: float) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
    """Look a name up and connect; return the address too.

    Raises
    ------
    OSError
        If the name has no address, or several pods have it, or nobody answers there.
    """
    loop = asyncio.get_running_loop()
    # The resolver has its own time limits; a second look-up beside a hanging one helps nobody.
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    address = str(found[0][4][0])
    # A pod has one address of a family. Who joins either of two leaders leaves both waiting for the rest.
    rivals = sorted({str(there[0]) for family, _, _, _, there in found if family == found[0][0]})
    if len(rivals) > 1:
        raise OSError(f"the name stands for {' and '.join(rivals)}: more than one pod claims rank 0")
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(address, port, limit=LINE), timeout)
    except asyncio.TimeoutError:
        raise OSError(f"no answer from {address} in {timeout:g} s") from None
    return address, reader, writer
