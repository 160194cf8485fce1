"""The port of a kept rehearsal hands on bytes both ways, and tells its client when the engine is gone."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, cast

from lockstep.rehearse import completion
from lockstep.rehearse.forward import Forward

if TYPE_CHECKING:
    import pytest

    from lockstep.rehearse.controller import Controller

AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset, as the kernel does for a killed process


async def exchange(monkeypatch: pytest.MonkeyPatch, *, reset: bool) -> bytes:
    """Ask an engine through the port; return what the client reads until the end. The engine answers, or is killed."""

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readexactly(3)
        if reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        else:
            writer.write(asked.upper())
        writer.close()

    served = await asyncio.start_server(engine, "127.0.0.1", 0)
    monkeypatch.setattr(completion, "endpoint", lambda _: served.sockets[0].getsockname())
    forward = Forward(socket.create_server(("127.0.0.1", 0)).detach(), cast("Controller", None))
    await forward.start()
    host, port = forward.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"ask")
    read = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    await writer.wait_closed()
    for server in (served, forward._server):
        server.close()
        await server.wait_closed()
    while len(asyncio.all_tasks()) > 1:  # both ends' own
        await asyncio.sleep(0.01)
    return read


def test_answer_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client asks and what the engine answers."""
    assert b"ASK" == asyncio.run(exchange(monkeypatch, reset=False))


def test_killed_engine_ends_the_clients_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset behind the port is an end in front of it: no client waits for its own timeout."""
    assert b"" == asyncio.run(exchange(monkeypatch, reset=True))
