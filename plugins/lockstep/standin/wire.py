"""Lines of JSON over a socket: between ranks, and between the API process and its engine core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

Message = dict[str, object]

LIMIT = 1 << 20  # bytes of one line: a stranger's endless line must not fill the memory


class ClosedError(ConnectionError):
    """The other side closed or reset the connection, or does not speak this language."""


class Wire:
    """One connection: messages out, whole messages in."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._rest = b""

    def fileno(self) -> int:
        """Let ``selectors`` wait for it."""
        return self.connection.fileno()

    def send(self, message: Message) -> None:
        """Send one message; raise ``ClosedError`` when nobody is there."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self) -> list[Message]:
        """Read once and return the messages that are complete; raise ``ClosedError`` at the end."""
        try:
            data = self.connection.recv(65536)
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not data:
            raise ClosedError("Connection closed by peer")
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LIMIT:
            raise ClosedError("line too long")
        try:
            messages = [json.loads(line) for line in lines if line.strip()]
        except ValueError as error:
            raise ClosedError(str(error)) from None
        if not all(isinstance(message, dict) for message in messages):
            raise ClosedError("no message")
        return messages
