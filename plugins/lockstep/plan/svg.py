"""Small pieces of SVG; colours are classes, so that the page decides them for light and dark."""

from __future__ import annotations

from html import escape

__all__ = ["label", "line", "picture", "rectangle"]


def picture(width: float, height: float, title: str, parts: list[str]) -> str:
    """Return a whole SVG of its own size that shrinks with the page and says what it shows."""
    head = f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" aria-label="{escape(title)}">'
    return f"{head}{''.join(parts)}</svg>"


def rectangle(x: float, y: float, width: float, height: float, kind: str, hint: str = "", radius: float = 2) -> str:
    """Return a rectangle with a hint for the mouse."""
    shape = f'<rect x="{x:g}" y="{y:g}" width="{max(width, 0):g}" height="{height:g}" rx="{radius:g}" class="{kind}"'
    return f"{shape}><title>{escape(hint)}</title></rect>" if hint else f"{shape}/>"


def label(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a line."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>'
