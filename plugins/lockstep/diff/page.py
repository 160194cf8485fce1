"""The steps of a change as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.diff.steps import STATES
from lockstep.diff.terminal import heading, steps
from lockstep.plan.svg import label, picture, rectangle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.diff.steps import Track

STYLE: Final = Path(__file__).parents[1] / "plan" / "page.css"
OWN: Final = Path(__file__).with_name("page.css")
CELL, HEIGHT, GAP, LETTER = 46.0, 22.0, 5.0, 8.2
INSIDE: Final = {"old": "old", "load": "loads", "new": "new"}


def page(name: str, sentences: Sequence[str], tracks: Sequence[Track]) -> str:
    """Return the page.

    Parameters
    ----------
    name : str
        The release.
    sentences : sequence of str
        What happens, in words.
    tracks : sequence of Track
        What happens, in steps.

    Returns
    -------
    str
        HTML with its style and drawings inside; it follows the reader's choice of light or dark.
    """
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    style = STYLE.read_text(encoding="utf-8") + OWN.read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Change of {escape(name)}</title>\n<style>\n{style}</style>\n<main>\n<h1>{escape(name)}</h1>\n"
        f'<ul class="said">{said}</ul>\n' + "\n".join(map(_section, tracks)) + "\n</main>\n</html>\n"
    )


def _section(track: Track) -> str:
    more = f'<p class="more">and {track.more} more in the same way</p>' if track.more else ""
    used = {state for row in track.rows for state in row.states}
    legend = "".join(f'<li><i class="{s}"></i>{meaning}</li>' for s, meaning in STATES.items() if s in used)
    return (
        f"<section><h2>{escape(heading(track))}</h2>"
        f'<div class="drawing">{_drawing(track)}</div>{more}<ul class="legend">{legend}</ul></section>'
    )


def _drawing(track: Track) -> str:
    """Draw a row for each group and a column for each step."""
    left = max((len(row.name) for row in track.rows), default=0) * LETTER + 12
    columns = steps(track)
    parts = [label(left + i * CELL + CELL / 2, 14, name, "quiet", "middle") for i, name in enumerate(columns)]
    for number, row in enumerate(track.rows):
        y = 24 + number * (HEIGHT + GAP)
        parts.append(label(0, y + HEIGHT / 2 + 5, row.name, "name"))
        for column, state in enumerate(row.states):
            x = left + column * CELL
            parts.append(
                rectangle(x + 1, y, CELL - 2, HEIGHT, state, f"{row.name}, {columns[column]}: {STATES[state]}", 4)
            )
            if state in INSIDE:
                parts.append(label(x + CELL / 2, y + HEIGHT / 2 + 4, INSIDE[state], f"on-{state}", "middle"))
    return picture(left + len(columns) * CELL, 24 + len(track.rows) * (HEIGHT + GAP), f"Steps of {track.title}", parts)
