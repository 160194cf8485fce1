"""The two drawings of a layout: where ranks and layers are, and what fills a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.memory.units import GIB, gib
from lockstep.plan.picture import amount
from lockstep.plan.svg import label, line, picture, rectangle

if TYPE_CHECKING:
    from lockstep.plan.picture import Picture, Stage
    from lockstep.plan.placement import Gpu, Node

__all__ = ["memory", "placement"]

GPU, GAP, ROW, PAD = 44.0, 6.0, 8, 12.0
LINK, NARROW = 46.0, 380.0
BAR, BAR_GAP, AXIS, WIDE = 26.0, 12.0, 64.0, 640.0
# Stages take these tints in turn.
TINTS = 6


def placement(found: Picture) -> str:
    """Draw every node with its GPUs, coloured by stage, and the network between them."""
    across = min(max(len(node.gpus) for node in found.nodes), ROW)
    width = max(2 * PAD + across * (GPU + GAP) - GAP, NARROW)
    parts: list[str] = []
    top = 0.0
    for node in found.nodes:
        if node.index:
            parts += link(found, node, top)
            top += LINK
        height = node_height(node)
        parts.append(rectangle(0.5, top + 0.5, width - 1, height - 1, "node", radius=8))
        parts.append(label(PAD, top + 20, node_title(found, node), "name"))
        for position, gpu in enumerate(node.gpus):
            x = PAD + position % ROW * (GPU + GAP)
            y = top + 30 + position // ROW * (GPU + GAP)
            parts.append(rectangle(x, y, GPU, GPU, f"stage{gpu.stage % TINTS}", hint(found, gpu), radius=5))
            parts.append(label(x + GPU / 2, y + GPU / 2 + 5, str(gpu.rank), "rank", "middle"))
        top += height
    return picture(width, top, f"Ranks of {found.title}", parts)


def node_height(node: Node) -> float:
    """Return the height of a node."""
    rows = -(-len(node.gpus) // ROW)
    return 30 + rows * (GPU + GAP) - GAP + PAD


def node_title(found: Picture, node: Node) -> str:
    """Say what a node holds."""
    words = [f"node {node.index}"]
    for stage in node.stages:
        span = found.stages[stage].span
        words.append(f"stage {stage}" + (f", {span}" if span else ""))
    if len(words) > 3:
        words = [words[0], f"stages {node.stages[0]}-{node.stages[-1]}"]
    return " · ".join(words)


def hint(found: Picture, gpu: Gpu) -> str:
    """Say what a GPU is."""
    span = found.stages[gpu.stage].span
    data = f", data {gpu.data}" if gpu.data else ""
    return f"rank {gpu.rank}: stage {gpu.stage}, tensor {gpu.tensor}{data}" + (f", {span}" if span else "")


def link(found: Picture, node: Node, top: float) -> list[str]:
    """Draw the network above a node, and once what one token sends over all of it."""
    x = PAD + GPU / 2
    parts = [line(x, top + 4, x, top + LINK - 4, "link")]
    if node.index == 1 and found.traffic:
        where = "the network" if len(found.nodes) == 2 else "all links between nodes"
        parts.append(label(x + 10, top + LINK / 2 + 4, f"{amount(found.traffic.total)} a token over {where}", "quiet"))
    return parts


def memory(found: Picture) -> str:
    """Draw one GPU of each stage as a bar of its terms, with the accelerator's size and the engine's limit."""
    needed = max(sum(term.bytes for term in stage.terms) for stage in found.stages)
    scale = WIDE / max(needed, found.memory)
    height = len(found.stages) * (BAR + BAR_GAP) + 40
    parts: list[str] = []
    for stage in found.stages:
        y = 8 + stage.index * (BAR + BAR_GAP)
        parts.append(label(0, y + BAR / 2 + 5, f"stage {stage.index}", "name"))
        parts += segments(stage, y, scale)
    bottom = 8 + len(found.stages) * (BAR + BAR_GAP) - BAR_GAP + 4
    parts += mark(AXIS + found.memory * scale, bottom, "edge", f"{gib(found.memory)}", "end")
    if found.limit < found.memory:
        parts += mark(AXIS + found.limit * scale, bottom, "limit", "", "end")
    for step in range(0, int(found.memory / GIB), 20):
        x = AXIS + step * GIB * scale
        if found.memory * scale + AXIS - x > 70:
            parts += [line(x, bottom, x, bottom + 5, "axis"), label(x, bottom + 19, f"{step}", "quiet", "middle")]
    return picture(AXIS + WIDE + 8, height, f"Memory of one GPU of {found.title}", parts)


def segments(stage: Stage, y: float, scale: float) -> list[str]:
    """Draw the terms of a bar."""
    parts, x = [], AXIS
    for term in stage.terms:
        width = term.bytes * scale
        parts.append(rectangle(x, y, width - 1, BAR, term.key, f"{term.name}: {gib(term.bytes)}"))
        if width > 62 and term.key != "unused":
            parts.append(label(x + width / 2, y + BAR / 2 + 4, gib(term.bytes), f"on-{term.key}", "middle"))
        x += width
    return parts


def mark(x: float, bottom: float, kind: str, words: str, anchor: str) -> list[str]:
    """Draw a line across all bars."""
    return [line(x, 0, x, bottom + 5, kind), *([label(x, bottom + 19, words, "quiet", anchor)] if words else [])]
