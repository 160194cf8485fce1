"""The status port: probes and metrics, answered from what is known already."""

from __future__ import annotations

import asyncio
import http
from typing import TYPE_CHECKING

from group import words
from group.wire import Doorkeeper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

HEAD = 8192  # bytes of the longest request
PATIENCE = 5.0  # seconds for a whole request
CALLERS = 64  # connections at a time


class StatusPort:
    """Serves ``GET`` of a few pages.

    Parameters
    ----------
    answer
        Maps a path to a status code and a text; code 404 for a path that is none.
    """

    def __init__(self, answer: Callable[[str], tuple[int, str]]) -> None:
        self.answer = answer
        self.door = Doorkeeper(CALLERS)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then close."""
        self.door.enter(writer)
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            words_of_line = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
            if len(words_of_line) != 3 or not words_of_line[2].startswith("HTTP/1."):
                raise ValueError("no HTTP")
            code, text = self.answer(words_of_line[1].partition("?")[0])
            if words_of_line[0] not in ("GET", "HEAD"):
                code, text = http.HTTPStatus.METHOD_NOT_ALLOWED, "GET only\n"
            body = text.encode()
            writer.write(
                f"HTTP/1.1 {code} {http.HTTPStatus(code).phrase}\r\n"
                "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            )
            if words_of_line[0] != "HEAD":
                writer.write(body)
            await asyncio.wait_for(writer.drain(), PATIENCE)
            writer.close()
        except (asyncio.TimeoutError, TimeoutError):
            self.door.drop(writer, words.TOO_SLOW)
        except (asyncio.LimitOverrunError, ValueError):
            self.door.drop(writer, words.BAD_FRAME)
        except (asyncio.IncompleteReadError, OSError):
            writer.transport.abort()
        finally:
            self.door.known(writer)


def family(name: str, kind: str, help_text: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    """Return one metric family as Prometheus text."""
    lines = [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inner = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inner}}} {value:g}" if inner else f"{name} {value:g}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
