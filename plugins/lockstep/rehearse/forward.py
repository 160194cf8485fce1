"""A port of this machine that leads to the group's Service, as ``kubectl port-forward`` does."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

from lockstep.rehearse import completion

if TYPE_CHECKING:
    from lockstep.rehearse.controller import Controller


class Forward:
    """Serves a listening socket that was opened outside of the rehearsal's namespaces."""

    def __init__(self, descriptor: int, controller: Controller) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)
        self._controller = controller

    @property
    def address(self) -> str:
        """Where it listens, as host:port."""
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    async def start(self) -> None:
        """Begin to take connections."""
        self._server = await asyncio.start_server(self._connect, sock=self._socket)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            address, port = completion.endpoint(self._controller)
            there_reader, there_writer = await asyncio.open_connection(address, port)
            await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))
            there_writer.close()
        writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Hand on what comes, and its end; a reset (the engine was killed) ends both ways, or the client would wait on."""
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
    except OSError:
        sink.close()
