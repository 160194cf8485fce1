"""Pictures in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lockstep.memory.units import GIB
from lockstep.plan.picture import TERMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from lockstep.plan.picture import Picture, Stage
    from lockstep.plan.placement import Node

__all__ = ["render"]

BAR = 36
# Letters say what colours say, for those who print, pipe or do not see them.
MARKS = {
    "weights": ("W", "blue"),
    "activations": ("A", "yellow"),
    "graphs": ("G", "magenta"),
    "context": ("N", "red"),
    "sequence": ("C", "green"),
    "cache": ("c", "bright_green"),
    "unused": (".", "bright_black"),
}
VERDICTS = {"fits": "bold green", "tight": "bold yellow", "does not fit": "bold red"}


def render(pictures: Sequence[Picture]) -> RenderableType:
    """Return what rich prints: the comparison when there are several, then each picture."""
    parts: list[RenderableType] = []
    if len(pictures) > 1:
        parts += [comparison(pictures), Text()]
    for picture in pictures:
        parts += [*one(picture, alone=len(pictures) == 1), Text()]
    return Group(*parts[:-1])


def comparison(pictures: Sequence[Picture]) -> Table:
    """Return the facts of all pictures side by side."""
    table = Table(title=pictures[0].model, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("")
    for picture in pictures:
        table.add_column(picture.title, justify="right")
    names = list(dict.fromkeys(fact.name for picture in pictures for fact in picture.facts))
    for name in names:
        cells = [next((f.value for f in picture.facts if f.name == name), "-") for picture in pictures]
        table.add_row(name, *(Text(cell, VERDICTS.get(cell, "")) for cell in cells))
    return table


def one(picture: Picture, *, alone: bool) -> list[RenderableType]:
    """Return the parts of one picture, with its facts when no comparison has them."""
    head = Text.assemble((f"{picture.model}: {picture.title}", "bold"))
    if picture.fit:
        head.append(f"  {picture.verdict}", VERDICTS[picture.verdict])
    refused = (Text(f"refused: {each.code} {each.message}", "bold red") for each in picture.refused)
    parts: list[RenderableType] = [head, *refused, *(Text(note, "yellow") for note in picture.notes), nodes(picture)]
    if picture.fit:
        parts += [Text(), memory(picture), legend(picture)]
    parts += [Text(f"enough: {remedy}") for remedy in picture.remedies]
    if not alone:
        return parts
    facts = Table(box=None, show_header=False, pad_edge=False)
    for fact in picture.facts:
        facts.add_row(fact.name, Text(fact.value, VERDICTS.get(fact.value, "")))
    return [*parts, Text(), facts]


def nodes(picture: Picture) -> Table:
    """Return which ranks and layers each node has."""
    table = Table(box=None, pad_edge=False)
    for heading in ("node", "ranks", "stage", "layers"):
        table.add_column(heading)
    for node in picture.nodes:
        table.add_row(str(node.index), ranks(node), ", ".join(map(str, node.stages)), layers(picture, node))
    return table


def ranks(node: Node) -> str:
    """Write the ranks of a node."""
    first, last = node.gpus[0].rank, node.gpus[-1].rank
    return f"{first}-{last}" if last > first else str(first)


def layers(picture: Picture, node: Node) -> str:
    """Write the layers of a node."""
    spans = [picture.stages[stage].span for stage in node.stages]
    return ", ".join(str(span).removeprefix("layers ") for span in spans if span) or "not known"


def memory(picture: Picture) -> Table:
    """Return a bar for one GPU of each stage."""
    table = Table(box=None, pad_edge=False)
    table.add_column("stage")
    table.add_column(f"one GPU, {picture.accelerator}, {picture.memory / GIB:.1f} GiB")
    table.add_column("weights", justify="right")
    table.add_column("left for the cache", justify="right")
    found = picture.fit
    for stage, numbers in zip(picture.stages, found.stages if found else (), strict=True):
        weights, pool = f"{numbers.weights / GIB:.1f}", f"{max(numbers.pool, 0) / GIB:.1f}"
        table.add_row(str(stage.index), bar(stage, picture.memory), weights, pool)
    return table


def bar(stage: Stage, memory: float) -> Text:
    """Return a stacked bar; what is over the accelerator's memory goes beyond it, in reverse."""
    drawn, position, text = 0, 0.0, Text()
    for term in stage.terms:
        position += term.bytes / memory * BAR
        width = round(position) - drawn
        mark, colour = MARKS[term.key]
        inside = max(min(width, BAR - drawn), 0)
        text.append(mark * inside, colour)
        text.append(mark * min(width - inside, BAR), f"reverse {colour}")
        drawn += width
    return text


def legend(picture: Picture) -> Text:
    """Return what the letters of the bars mean."""
    used = {term.key for stage in picture.stages for term in stage.terms}
    text = Text("      ")
    for key, name in TERMS.items():
        if key in used:
            mark, colour = MARKS[key]
            text.append(f" {mark} ", colour)
            text.append(name)
    return text
