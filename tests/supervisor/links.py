"""The network between workers and their leader, as far as a test must be able to break it.

A worker's leader address is one of this process's: what arrives there goes on to the leader of the
moment, as a name in the cluster's DNS would lead there. A `Link` can be cut (nothing passes and nothing
ends, as when a cable is pulled) or slowed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

PORTS = (7071, 29501)


class Link:
    """What one worker sees of its leader."""

    def __init__(self, address: str, leader: Callable[[], str]) -> None:
        self.address = address
        self.leader = leader
        self.cut = False
        self.delay = 0.0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        """Carry one connection."""
        ends = [writer]
        try:
            await self._open()
            there, back = await asyncio.open_connection(self.leader(), port)
            ends.append(back)
            pumps = [asyncio.ensure_future(self._pump(reader, back)), asyncio.ensure_future(self._pump(there, writer))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            await self._open()
        except OSError:
            pass  # whoever connects sees a connection that ends, as with a real leader that is not there
        finally:
            for end in ends:
                end.transport.abort()

    async def _open(self) -> None:
        while self.cut:
            await asyncio.sleep(0.02)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await asyncio.sleep(self.delay)
                await self._open()
                writer.write(data)


class Network:
    """A thread that carries all links of a test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.servers: list[asyncio.AbstractServer] = []
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def _do(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def link(self, address: str, leader: Callable[[], str]) -> Link:
        """Listen on an address for a worker."""
        link = Link(address, leader)

        async def listen(port: int) -> None:
            self.servers.append(await asyncio.start_server(lambda r, w: link.carry(r, w, port), address, port))

        for port in PORTS:
            self._do(listen(port))
        return link

    def close(self) -> None:
        """End all of it."""

        async def end() -> None:
            for server in self.servers:
                server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.05)  # aborted transports close in the next turns of the loop

        self._do(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
