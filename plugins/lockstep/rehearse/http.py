"""The little HTTP that probes and completions need, without blocking."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from lockstep.rehearse.waiting import within


@dataclass(frozen=True)
class Answer:
    """Status and body of a response."""

    status: int
    body: bytes


async def request(
    address: str,
    port: int,
    path: str,
    *,
    timeout: float,
    body: object = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Ask once over a connection of its own.

    Parameters
    ----------
    address, port, path
        Where.
    timeout : float
        Seconds for everything together.
    body : object, optional
        Sent as JSON by POST; without one it is a GET.
    headers : dict of str, optional
        Further headers.

    Returns
    -------
    Answer
        Whatever status it has.

    Raises
    ------
    OSError
        When nobody answers, or no HTTP (``TimeoutError`` when it takes too long).
    """
    return await within(timeout, _ask(address, port, path, body, headers or {}))


async def _ask(address: str, port: int, path: str, body: object, headers: dict[str, str]) -> Answer:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: {address}:{port}", "Connection: close"]
        lines += [f"Content-Length: {len(content)}", "Content-Type: application/json"] * (body is not None)
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()
        return _parse(await reader.read())
    finally:
        writer.close()


def _parse(raw: bytes) -> Answer:
    if not raw:
        raise ConnectionError("closed without an answer")
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        raise ConnectionError("the answer is no HTTP")
    if any(line.lower().replace(" ", "") == "transfer-encoding:chunked" for line in lines):
        rest = _join(rest)
    return Answer(int(words[1]), rest)


def _join(chunked: bytes) -> bytes:
    whole = b""
    while chunked:
        size, _, chunked = chunked.partition(b"\r\n")
        length = int(size or b"0", 16)
        whole, chunked = whole + chunked[:length], chunked[length + 2 :]
        if length == 0:
            break
    return whole
