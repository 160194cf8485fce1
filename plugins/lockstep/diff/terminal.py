"""The steps of a change in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lockstep.diff.steps import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from lockstep.diff.steps import Track

# Letters say what colours say, for those who print, pipe or do not see them.
MARKS: Final = {"old": ("o", "blue"), "load": ("L", "yellow"), "new": ("n", "green"), "none": (".", "bright_black")}


def render(tracks: Sequence[Track]) -> RenderableType:
    """Return what rich prints: a table of groups and steps for each object, and what the letters mean."""
    parts: list[RenderableType] = []
    for track in tracks:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for name in steps(track):
            table.add_column(name, justify="center")
        for row in track.rows:
            table.add_row(row.name, *(Text(MARKS[state][0], MARKS[state][1]) for state in row.states))
        parts += [Text(heading(track), "bold"), table]
        if track.more:
            parts.append(Text(f"and {track.more} more in the same way", "bright_black"))
        parts.append(Text())
    used = {state for track in tracks for row in track.rows for state in row.states}
    legend = [Text.assemble(MARKS[state], f" {meaning}") for state, meaning in STATES.items() if state in used]
    return Group(*parts, *legend)


def heading(track: Track) -> str:
    """Say in a line what a track shows."""
    groups = "group serves" if track.serving == 1 else "groups serve"
    serving = f"at least {track.serving} {groups}" if track.serving else "nothing serves for a model load"
    return f"{track.title}: {serving}, {track.spare} spare GPUs"


def steps(track: Track) -> list[str]:
    """Name the columns of a track."""
    count = max((len(row.states) for row in track.rows), default=1)
    return ["now", *map(str, range(1, count))]
