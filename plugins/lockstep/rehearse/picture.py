"""The timeline as one picture: a lane for each rank, drawn as SVG from the events alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockstep.rehearse.plan import Report
    from lockstep.rehearse.timeline import Event

LEFT, RIGHT, WIDTH = 150, 30, 1240  # of the drawing, in pixels; lanes lie between LEFT and WIDTH - RIGHT
FITS = 22  # characters of a pod's name left of a lane
TOP, LANE, BAND, FINE = 96, 74, 26, 12  # height above the lanes, of a lane, of its band and of the fine one below

# What a pod is from one event to the next.
PHASE = {
    "created": "Pending",
    "started": "Running",
    "ready": "Ready",
    "not-ready": "Running",
    "killing": "Terminating",
    "exited": "Ended",
    "backoff": "BackOff",
}
COLOURS = {
    "Pending": "#d5d8dc",
    "Running": "#f4c95d",
    "Ready": "#57a773",
    "Terminating": "#9b6b9e",
    "Ended": "#7f8c8d",
    "BackOff": "#c0563f",
}
# The supervisor's own states, as far as they have a colour of their own.
FINE_COLOURS = {
    "serving": "#57a773",
    "starting": "#f4c95d",
    "stopping": "#c0563f",
    "draining": "#9b6b9e",
    "ended": "#7f8c8d",
}
OTHER = "#b8c4d0"
STATE = re.compile(r"\bstate=(\w+)")


@dataclass(frozen=True)
class Span:
    """A piece of a lane."""

    name: str
    begins: float
    ends: float


def spans(events: Iterable[Event], end: float) -> list[Span]:
    """Return what the pod of a lane was, from its events, until it was gone."""
    found: list[Span] = []
    now: tuple[str, float] | None = None
    for event in events:
        name = PHASE.get(event.kind)
        if event.kind == "not-ready":
            name = ("Terminating" if "deleted" in event.text else name) if now and now[0] == "Ready" else None
        gone = event.kind == "deleted"
        if now and (gone or (name and name != now[0] and not (now[0] == "Terminating" and name == "Running"))):
            found.append(Span(now[0], now[1], event.at))
            now = None
        if name and now is None and not gone:
            now = (name, event.at)
    return [*found, Span(now[0], now[1], end)] if now else found


def states(events: Iterable[Event], end: float) -> list[Span]:
    """Return the supervisor's states of a lane, read from its log lines; they end with the container."""
    found: list[Span] = []
    now: tuple[str, float] | None = None
    for event in events:
        word = STATE.search(event.text) if event.kind == "log" else None
        over = event.kind in ("exited", "deleted")
        if now and (over or (word and word[1] != now[0])):
            found.append(Span(now[0], now[1], event.at))
            now = None
        if word and now is None:
            now = (word[1], event.at)
    return [*found, Span(now[0], now[1], end)] if now else found


class Drawing:
    """Puts shapes on a time axis."""

    def __init__(self, seconds: float, lanes: int) -> None:
        self.height = TOP + lanes * LANE + 70
        self._scale = (WIDTH - LEFT - RIGHT) / max(seconds, 0.1)
        self._shapes: list[str] = []

    def x(self, at: float) -> float:
        """Return the place of a moment."""
        return round(LEFT + at * self._scale, 1)

    def box(self, span: Span, y: int, height: int, colour: str, title: str) -> None:
        """Draw a piece of a lane, with its name where it fits."""
        left, width = self.x(span.begins), max(1.0, round((span.ends - span.begins) * self._scale, 1))
        rectangle = f'<rect x="{left}" y="{y}" width="{width}" height="{height}" fill="{colour}" rx="2">'
        self._shapes.append(f"{rectangle}<title>{escape(title)}</title></rect>")
        size = 12 if height == BAND else 9
        if width > len(span.name) * size * 0.62 + 6:
            self.text(left + 5, y + height / 2 + size * 0.36, span.name, size=size)

    def text(
        self, x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", colour: str = "#222"
    ) -> None:
        """Write something."""
        place = f'x="{x}" y="{round(y, 1)}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
        self._shapes.append(f"<text {place}>{escape(words)}</text>")

    def line(self, at: float, top: int, bottom: int, colour: str, title: str = "", dashes: str = "") -> None:
        """Draw an upright line."""
        x = self.x(at)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        shape = f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}" stroke="{colour}" stroke-width="1.5"{dashed}>'
        self._shapes.append(f"{shape}<title>{escape(title)}</title></line>")

    def dot(self, at: float, y: int, colour: str, title: str) -> None:
        """Draw a mark."""
        shape = f'<circle cx="{self.x(at)}" cy="{y}" r="4.5" fill="{colour}">'
        self._shapes.append(f"{shape}<title>{escape(title)}</title></circle>")

    def done(self, title: str) -> str:
        """Return the document."""
        size = f'width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Helvetica, Arial, sans-serif">'
        ground = f'<rect width="{WIDTH}" height="{self.height}" fill="white"/>'
        return "\n".join([head, f"<title>{escape(title)}</title>", ground, *self._shapes, "</svg>"]) + "\n"


def draw(report: Report) -> str:
    """Return a rehearsal as SVG.

    Parameters
    ----------
    report : Report
        With its events.

    Returns
    -------
    str
        One picture: a lane for each rank with kubelet's view and, below it, the supervisor's; faults as
        lines across; the client's requests on a line of their own.
    """
    events = report.events
    end = max((event.at for event in events), default=1.0)
    ranks = sorted({event.rank for event in events if event.rank is not None})
    drawing = Drawing(end, len(ranks))
    drawing.text(LEFT, 26, title(report), size=16)
    _axis(drawing, end)
    _requests(drawing, events)
    for lane, rank in enumerate(ranks):
        _lane(drawing, rank, [event for event in events if event.rank == rank], TOP + lane * LANE, end)
    _faults(drawing, events, TOP + len(ranks) * LANE)
    _legend(drawing, drawing.height - 18)
    return drawing.done(title(report))


def title(report: Report) -> str:
    """Return the figures of a rehearsal in one line."""
    words = [f"engine: {'stand-in' if report.engine == 'standin' else report.engine}"]
    words += [f"Ready after {report.ready_seconds:.1f} s"] if report.ready_seconds is not None else []
    words += (
        [f"serving again {report.recovered_seconds:.1f} s after the last fault"] if report.recovered_seconds else []
    )
    words += [report.error.splitlines()[0]] if report.error else []
    return ", ".join(words)


def _axis(drawing: Drawing, end: float) -> None:
    step = next((each for each in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600) if end / each <= 16), 1800)
    for tick in range(0, int(end) + 1, step):
        drawing.line(tick, TOP - 14, drawing.height - 44, "#e5e7ea")
        drawing.text(drawing.x(tick), TOP - 20, f"{tick} s", size=11, anchor="middle", colour="#666")


def _requests(drawing: Drawing, events: Sequence[Event]) -> None:
    drawing.text(LEFT - 12, 58, "client", anchor="end")
    for event in events:
        if event.kind == "request" and not event.text.startswith("chat completion asked"):
            drawing.dot(event.at, 54, "#c0563f" if event.text.startswith("not served") else "#2f7fb8", event.text)


def _lane(drawing: Drawing, rank: int, events: list[Event], y: int, end: float) -> None:
    drawing.text(LEFT - 12, y + 17, f"rank {rank}", size=13, anchor="end")
    names = [event.pod for event in events if event.pod]
    name = names[-1] if names else ""
    shown = name if len(name) <= FITS else f"...{name[3 - FITS :]}"
    drawing.text(LEFT - 12, y + 34, shown, size=11, anchor="end", colour="#666")
    for span in spans(events, end):
        said = f"{span.name}, {span.begins:.1f} to {span.ends:.1f} s"
        drawing.box(span, y, BAND, COLOURS[span.name], said)
    for span in states(events, end):
        said = f"supervisor: {span.name}, {span.begins:.1f} to {span.ends:.1f} s"
        drawing.box(span, y + BAND + 3, FINE, FINE_COLOURS.get(span.name, OTHER), said)


def _faults(drawing: Drawing, events: Sequence[Event], bottom: int) -> None:
    row = 0
    for event in events:
        if event.kind == "fault":
            drawing.line(event.at, TOP - 10, bottom, "#b3261e", event.text, "5 3")
            drawing.text(drawing.x(event.at) + 4, bottom + 4 + 14 * (row % 2), event.text, size=11, colour="#b3261e")
            row += 1


def _legend(drawing: Drawing, y: int) -> None:
    at = float(LEFT)
    for name, colour in COLOURS.items():
        drawing._shapes.append(f'<rect x="{at}" y="{y - 10}" width="12" height="12" fill="{colour}" rx="2"/>')
        drawing.text(at + 17, y, name, size=11, colour="#444")
        at += 17 + 6.5 * len(name) + 18
    drawing.text(
        at, y, "upper band: kubelet's view; lower band: the supervisor's state; dots: requests", size=11, colour="#444"
    )


def page(report: Report) -> str:
    """Return the picture and, below it, every event as a row: one HTML file without anything from elsewhere."""
    rows = "\n".join(
        f'<tr class="{event.kind}"><td>{event.at:.2f}</td><td>{"" if event.rank is None else event.rank}</td>'
        f"<td>{escape(event.pod)}</td><td>{event.kind}</td><td>{escape(event.text)}</td></tr>"
        for event in report.events
    )
    style = (
        "body{font:14px Helvetica,Arial,sans-serif;margin:24px}table{border-collapse:collapse;margin-top:24px}"
        "td,th{text-align:left;padding:2px 12px 2px 0;vertical-align:top;white-space:nowrap}"
        "td:last-child{white-space:pre-wrap}"
        ".fault td{color:#b3261e;font-weight:bold}.group td{font-weight:bold}"
        ".request td{color:#2f7fb8}.probe td{color:#888}"
    )
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Rehearsal</title><style>{style}</style>'
    columns = "<tr><th>s</th><th>rank</th><th>pod</th><th>event</th><th></th></tr>"
    return f"{head}<body>\n{draw(report)}<table>{columns}\n{rows}\n</table></body></html>\n"
