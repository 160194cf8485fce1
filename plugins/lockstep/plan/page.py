"""Pictures as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.memory.engines import ENGINES
from lockstep.memory.units import gib
from lockstep.plan.drawing import memory, placement
from lockstep.plan.picture import TERMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.plan.picture import Picture

__all__ = ["page"]

STYLE = Path(__file__).with_name("page.css")


def page(pictures: Sequence[Picture]) -> str:
    """Return the page: the comparison when there are several, then each picture.

    Parameters
    ----------
    pictures
        At least one.

    Returns
    -------
    str
        HTML with its style and drawings inside; it follows the reader's choice of light or dark.
    """
    first = pictures[0]
    body = [f"<h1>{escape(first.model)}</h1>", *(f'<p class="note">{escape(note)}</p>' for note in first.notes)]
    if len(pictures) > 1:
        body.append(comparison(pictures))
    body += [section(picture, alone=len(pictures) == 1) for picture in pictures]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Plan of {escape(first.model)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n"
        "<main>\n" + "\n".join(body) + "\n</main>\n</html>\n"
    )


def comparison(pictures: Sequence[Picture]) -> str:
    """Return the facts of all pictures side by side."""
    names = list(dict.fromkeys(fact.name for picture in pictures for fact in picture.facts))
    head = "".join(f"<th>{escape(picture.title)}</th>" for picture in pictures)
    rows = []
    for name in names:
        values = [next((f.value for f in picture.facts if f.name == name), "-") for picture in pictures]
        cells = "".join(f"<td>{verdict(value)}</td>" for value in values)
        rows.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
    return f'<table class="facts"><tr><th></th>{head}</tr>{"".join(rows)}</table>'


def section(picture: Picture, *, alone: bool) -> str:
    """Return one picture, with its facts when no comparison has them."""
    parts = [f"<h2>{escape(picture.title)} {verdict(picture.verdict) if picture.fit else ''}</h2>"]
    parts += [f'<p class="note">refused: {escape(f"{each.code} {each.message}")}</p>' for each in picture.refused]
    parts.append(f'<div class="drawing">{placement(picture)}</div>')
    if picture.fit:
        parts.append(f"<h3>One GPU of each stage ({escape(picture.accelerator or '')})</h3>")
        parts.append(f'<div class="drawing">{memory(picture)}</div>')
        parts.append(legend(picture))
        parts.append(numbers(picture))
    if picture.remedies:
        ways = "".join(f"<li>{escape(remedy)}</li>" for remedy in picture.remedies)
        parts.append(f"<h3>Each of these is enough</h3><ul>{ways}</ul>")
    if not alone:
        return f"<section>{''.join(parts)}</section>"
    facts = "".join(f"<dt>{escape(f.name)}</dt><dd>{verdict(f.value)}</dd>" for f in picture.facts)
    return f"<section>{''.join(parts)}<dl>{facts}</dl></section>"


def verdict(value: str) -> str:
    """Mark a verdict; anything else stays as it is."""
    kinds = {"fits": "fits", "tight": "tight", "does not fit": "fails"}
    return f'<span class="pill {kinds[value]}">{value}</span>' if value in kinds else escape(value)


def legend(picture: Picture) -> str:
    """Return what the colours mean."""
    used = {term.key for stage in picture.stages for term in stage.terms}
    entries = [f'<li><i class="{key}"></i>{name}</li>' for key, name in TERMS.items() if key in used]
    if picture.limit < picture.memory and picture.fit:
        knob = picture.fit.plan.knob
        name = ENGINES[knob.engine].fraction
        entries.append(f'<li><i class="limit"></i>{name} {knob.fraction:g}</li>')
    return f'<ul class="legend">{"".join(entries)}</ul>'


def numbers(picture: Picture) -> str:
    """Return the numbers behind the bars."""
    keys = [key for key in TERMS if any(term.key == key for stage in picture.stages for term in stage.terms)]
    head = "".join(f"<th>{TERMS[key]}</th>" for key in keys)
    rows = []
    for stage in picture.stages:
        sizes = {term.key: gib(term.bytes) for term in stage.terms}
        cells = "".join(f"<td>{sizes.get(key, '-')}</td>" for key in keys)
        rows.append(f"<tr><th>stage {stage.index}</th><td>{stage.span}</td>{cells}</tr>")
    table = f"<table><tr><th></th><th>layers</th>{head}</tr>{''.join(rows)}</table>"
    return f"<details><summary>Numbers</summary>{table}</details>"
