"""The timeline is one record: written as it happens, read back, and drawn as bands that do not overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from lockstep.rehearse import picture
from lockstep.rehearse.plan import Report
from lockstep.rehearse.timeline import Event, Timeline, read
from lockstep.rehearse.view import line

if TYPE_CHECKING:
    from pathlib import Path


def events(*moments: tuple[float, str, str]) -> list[Event]:
    """Return events of rank 0."""
    return [Event(at, kind, text, 0, "model-0") for at, kind, text in moments]


LIFE = events(
    (0.0, "created", "pod model-0 has address 10.0.0.1"),
    (0.5, "started", "container started"),
    (1.0, "log", "rank=0 state=starting: x"),
    (3.0, "log", "rank=0 state=serving: x"),
    (4.0, "ready", "pod is Ready: ok"),
    (6.0, "exited", "container ended with exit code 137"),
    (6.0, "not-ready", "pod is not Ready: its container ended"),
    (7.0, "started", "container started"),
    (8.0, "not-ready", "pod is not Ready: it is being deleted"),
    (8.0, "killing", "the group is recreated"),
    (9.0, "exited", "container ended with exit code 0"),
    (9.5, "deleted", "pod is gone"),
)


def test_written_is_read(tmp_path: Path) -> None:
    """Each event is in the file at once."""
    timeline = Timeline(tmp_path / "t.jsonl")
    first = timeline.add("created", "pod a", rank=1, pod="a")
    second = timeline.add("group", "group is Ready")

    assert [first, second] == timeline.events == read(tmp_path / "t.jsonl")

    timeline.close()


def test_unknown_kind_is_a_fault_of_ours(tmp_path: Path) -> None:
    """Kinds are a closed list: what reads a timeline can count on it."""
    timeline = Timeline(tmp_path / "t.jsonl")

    with pytest.raises(ValueError, match="'exploded' is no kind of event"):
        timeline.add("exploded", "x")

    timeline.close()


def test_line_of_an_event() -> None:
    """Seconds, who, what, and the sentence."""
    assert "   4.00 s  rank 0   ready     pod is Ready: ok" == line(LIFE[4])


def test_bands_of_a_pod() -> None:
    """What kubelet saw, from event to event."""
    found = [(span.name, span.begins, span.ends) for span in picture.spans(LIFE, 10.0)]

    expected = [
        ("Pending", 0.0, 0.5),
        ("Running", 0.5, 4.0),
        ("Ready", 4.0, 6.0),
        ("Ended", 6.0, 7.0),
        ("Running", 7.0, 8.0),
        ("Terminating", 8.0, 9.0),
        ("Ended", 9.0, 9.5),
    ]
    assert expected == found


def test_bands_of_the_supervisor() -> None:
    """Its states are read from its log lines and end with the container."""
    found = [(span.name, span.begins, span.ends) for span in picture.states(LIFE, 10.0)]

    assert [("starting", 1.0, 3.0), ("serving", 3.0, 6.0)] == found


def test_picture_is_whole() -> None:
    """Well-formed SVG with a lane, a fault and the requests, whatever characters the texts have."""
    made = [
        *LIFE,
        Event(5.0, "fault", "kill leader@1 <now> & here", 0, "model-0"),
        Event(5.5, "request", "not served: refused"),
        Event(10.0, "request", 'answered in 0.1 s (2 tokens): "a" & b'),
    ]
    report = Report("standin", "loopback", ok=True, ready_seconds=4.0, recovered_seconds=5.0, events=made)
    drawn = ElementTree.fromstring(picture.draw(report))  # noqa: S314 - our own
    words = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]

    assert {"rank 0", "model-0", "client", "Ready", "serving", "kill leader@1 <now> & here"} <= set(words)
    assert "engine: stand-in, Ready after 4.0 s, serving again 5.0 s after the last fault" in words


def test_page_shows_every_event() -> None:
    """The HTML page has the picture and a row for each event, with nothing left unescaped."""
    report = Report("real", "namespaces", error="x <y>\nz", events=events((1.0, "log", "a <b> & c")))
    page = picture.page(report)

    assert "a &lt;b&gt; &amp; c" in page
    assert "<b>" not in page
    assert 1 == page.count('<tr class="log">')


def test_report_travels_as_json(tmp_path: Path) -> None:
    """What the session writes the launcher reads."""
    report = Report("standin", "loopback", ok=True, faults=["kill worker-1@5"], events=LIFE)
    path = tmp_path / "report.json"
    path.write_text(report.to_json())

    assert report == Report.read(path)
