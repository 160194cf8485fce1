"""Writes docs/memory.md: ``python -m tests.lockstep.memory.page``."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from tests.lockstep.memory.logs import Comparison, comparisons

FILE = Path(__file__).parents[3] / "docs" / "memory.md"
TEMPLATE = Path(__file__).with_name("page.md")
METRICS = {
    "weights": "weights on one GPU, GiB",
    "sequence": "cache of one sequence, GiB",
    "tokens": "tokens that a cache holds",
    "pool": "left for the cache, GiB",
}


def text() -> str:
    """Return the page."""
    found = comparisons()
    errors = [summary(metric, [c for c in found if c.metric == metric]) for metric in METRICS]
    page = TEMPLATE.read_text(encoding="utf-8")
    return page.replace("{errors}", "\n".join(errors)).replace("{logs}", "\n".join(map(line, found)))


def summary(metric: str, rows: list[Comparison]) -> str:
    """Return the row of the table of errors."""
    sizes = [abs(row.error) for row in rows]
    return f"| {METRICS[metric]} | {len(rows)} | {median(sizes):.1%} | {max(sizes):.1%} |"


def line(found: Comparison) -> str:
    """Return the row of one number."""
    what = f"[{found.row['what']}]({found.row['url']}), {found.row['engine']}"
    note = f" ({found.row['note']})" if "note" in found.row else ""
    figures = f"{written(found.seen)} | {written(found.predicted)} | {found.error:+.1%}"
    return f"| {what}{note} | {METRICS[found.metric]} | {figures} |"


def written(value: float) -> str:
    """Write a number: tokens as they are, GiB with two decimals."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.2f}"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")
