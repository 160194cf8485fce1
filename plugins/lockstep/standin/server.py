"""HTTP of the leader: one thread per connection, answers as the core's tokens come in."""

from __future__ import annotations

import json
import queue
import secrets
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING, cast

from lockstep.standin import protocol
from lockstep.standin.protocol import Asked, Json, RefusedError
from lockstep.standin.wire import ClosedError, Message, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.standin.layout import Layout
    from lockstep.standin.metrics import Metrics

Event = str | None  # a token, or None at the end


@dataclass(frozen=True)
class Page:
    """What is answered to a GET."""

    status: int
    body: bytes | str = b""
    kind: str = ""

    @classmethod
    def of(cls, document: Json) -> Page:
        """Return a JSON document."""
        return cls(200, json.dumps(document), "application/json")


# What an engine answers under a path; None where it has no page.
Pages = Callable[[str, "Front"], "Page | None"]
METRICS = "text/plain; version=0.0.4; charset=utf-8"


class ClientGoneError(ConnectionError):
    """Nobody waits for this answer any more."""


class Front:
    """What the API process knows: requests under way, whether it drains, whether the engine is dead."""

    def __init__(self, core: Wire, metrics: Metrics, layout: Layout, pages: Pages, keys: tuple[str, ...] = ()) -> None:
        self.metrics, self.layout, self.pages, self.keys = metrics, layout, pages, keys
        self.draining = False
        self.dead = False
        self.cut = False
        self._core = core
        self._lock = Lock()
        self._open: dict[str, queue.Queue[Event]] = {}
        self.connections = 0

    def count(self, change: int) -> None:
        """Count a request that begins (1) or ends (-1)."""
        with self._lock:
            self.connections += change

    @property
    def unfinished(self) -> int:
        """Requests whose last token has not come."""
        with self._lock:
            return len(self._open)

    def step(self, message: Message) -> None:
        """Hand out the tokens of a finished step; after the cut nobody gets any."""
        if self.cut:
            return
        self.metrics.step(message)
        with self._lock:
            for name, word in cast("dict[str, str]", message["tokens"]).items():
                if name in self._open:
                    self._open[name].put(word)
            for name in cast("list[str]", message["finished"]):
                if name in self._open:
                    self._open.pop(name).put(None)

    def die(self) -> None:
        """End all requests with an error, now and from now on: the engine is dead."""
        self.dead = True
        with self._lock:
            for each in self._open.values():
                each.put(None)

    def submit(self, asked: Asked, name: str) -> queue.Queue[Event]:
        """Hand a request to the core.

        Raises
        ------
        RefusedError
            500 while draining, after the end of the engine.
        """
        if self.draining:
            raise RefusedError(500, "InternalServerError", "cannot schedule new futures after shutdown")
        if self.dead:
            raise _engine_dead()
        words: queue.Queue[Event] = queue.Queue()
        with self._lock:
            self._open[name] = words
            try:
                self._core.send({"add": name, "prompt": asked.prompt, "length": asked.length, "wanted": asked.tokens})
            except ClosedError:
                raise _engine_dead() from None
        return words

    def abort(self, name: str) -> None:
        """Forget a request whose client left."""
        with self._lock:
            if self._open.pop(name, None) is None or self.dead:
                return
            self._core.send({"abort": name})

    def words(self, asked: Asked, name: str, connection: socket.socket) -> Iterator[str]:
        """Yield the tokens of one request as they come.

        Raises
        ------
        RefusedError
            When the engine dies on the way, or cannot take the request.
        ClientGoneError
            When the client hangs up first.
        """
        began = time.monotonic()
        words = self.submit(asked, name)
        first = True
        while True:
            try:
                word = words.get(timeout=0.1)
            except queue.Empty:
                if _hung_up(connection):
                    self.abort(name)
                    self.metrics.finish("abort", time.monotonic() - began)
                    raise ClientGoneError from None
                continue
            if word is None:
                break
            if first:
                self.metrics.first_token(time.monotonic() - began)
                first = False
            yield word
        if self.dead and self._open.pop(name, None) is not None:
            raise _engine_dead()
        self.metrics.finish("length", time.monotonic() - began)


def _engine_dead() -> RefusedError:
    return RefusedError(
        500, "InternalServerError", "EngineCore encountered an issue. See stack trace (above) for the root cause."
    )


def _hung_up(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


class Server(ThreadingHTTPServer):
    """Bound when it is made, listening (and so answering) only from ``open`` on, as the real one."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler, bind_and_activate=False)
        self.server_bind()
        self.front: Front | None = None

    def server_bind(self) -> None:
        """Bind without asking DNS for the own name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def open(self, front: Front) -> None:
        """Begin to answer."""
        self.front = front
        self.server_activate()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""

    @property
    def front(self) -> Front:
        """The state that all connections share."""
        front = cast("Server", self.server).front
        if front is None:
            raise RuntimeError("the listener is not open")
        return front

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """No access log."""

    def do_GET(self) -> None:
        """Answer what can be read."""
        path = self.path.split("?")[0]
        page = self.front.pages(path, self.front)
        if page is not None:
            body = page.body.encode() if isinstance(page.body, str) else page.body
            self._send(page.status, body, page.kind)
        elif path == "/v1/models" and self._allowed():
            layout = self.front.layout
            card = {"object": "model", "owned_by": "stand-in", "root": layout.model, "max_model_len": layout.context}
            self._json(200, {"object": "list", "data": [{"id": name, **card} for name in layout.served]})
        elif path != "/v1/models":
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """Answer a prompt."""
        path = self.path.split("?")[0]
        raw = self._body()
        if path not in ("/v1/chat/completions", "/v1/completions"):
            self._json(404, {"detail": "Not Found"})
            return
        if not self._allowed():
            return
        self.front.count(1)
        try:
            self._complete(raw, chat=path.endswith("chat/completions"))
        except (ClientGoneError, BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.front.count(-1)

    def _body(self) -> bytes:
        """Read a body of a known length, or one in chunks, which the base class leaves to us."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # a trailer says nothing that matters here
        return b"".join(chunks)

    def _complete(self, raw: bytes, *, chat: bool) -> None:
        name = f"{'chatcmpl' if chat else 'cmpl'}-{secrets.token_hex(16)}"
        try:
            try:
                body = json.loads(raw)
            except ValueError as error:
                raise RefusedError(400, "BadRequestError", f"JSON decode error: {error}") from None
            if not isinstance(body, dict):
                raise RefusedError(400, "BadRequestError", "a JSON object is expected")
            layout = self.front.layout
            asked = protocol.read(body, chat=chat, served=layout.served, context=layout.context)
            words = self.front.words(asked, name, self.connection)
            if asked.stream:
                self._stream(asked, name, words)
            else:
                self._json(200, protocol.answer(asked, name, list(words)))
        except RefusedError as refusal:
            self._json(refusal.status, refusal.body())

    def _stream(self, asked: Asked, name: str, words: Iterator[str]) -> None:
        made = 0
        try:
            for word in words:
                if made == 0:
                    self._start_stream()
                made += 1
                last = made == asked.tokens
                self._event(json.dumps(protocol.piece(asked, name, word, first=made == 1, last=last)))
        except RefusedError as refusal:
            if made == 0:
                raise
            self._event(json.dumps(refusal.body()))
        if asked.usage:
            self._event(json.dumps(protocol.closing_usage(asked, name, made)))
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _event(self, data: str) -> None:
        chunk = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")

    def _allowed(self) -> bool:
        keys = self.front.keys
        if not keys or self.headers.get("Authorization", "").removeprefix("Bearer ") in keys:
            return True
        self._json(401, {"error": "Unauthorized"})
        return False

    def _json(self, status: int, document: Json) -> None:
        self._send(status, json.dumps(document).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str = "") -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
