"""What ``vllm serve`` answers to a GET."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.standin.server import METRICS, Page

if TYPE_CHECKING:
    from lockstep.standin.server import Front, Pages


def pages_of(version: str) -> Pages:
    """Return the pages of a release."""

    def pages(path: str, front: Front) -> Page | None:
        if path in ("/health", "/ping"):
            return Page(503 if front.dead else 200)
        if path == "/metrics":
            return Page(200, front.metrics.render(), METRICS)
        if path == "/version":
            return Page.of({"version": version})
        if path == "/load":
            return Page.of({"server_load": front.unfinished})
        return None

    return pages
