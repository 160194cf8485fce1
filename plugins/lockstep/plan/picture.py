"""Everything that a picture of a layout shows, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockstep.memory.fit import Fit, Verdict, fit
from lockstep.memory.layout import Layout, partition
from lockstep.memory.remedy import remedies
from lockstep.memory.units import GIB, gib
from lockstep.plan.placement import Node, place
from lockstep.plan.traffic import Traffic, traffic

if TYPE_CHECKING:
    from lockstep.findings import Finding
    from lockstep.memory.fit import Plan, StageFit
    from lockstep.model.shape import ModelShape

__all__ = ["TERMS", "Fact", "Picture", "Span", "Stage", "Term", "draw"]


@dataclass(frozen=True)
class Term:
    """A part of a GPU's memory: ``key`` for its colour, name, and bytes."""

    key: str
    name: str
    bytes: float


# In the order in which they are stacked.
TERMS = {
    "weights": "weights",
    "activations": "activations",
    "graphs": "CUDA graphs",
    "context": "context and NCCL",
    "sequence": "cache, one full sequence",
    "cache": "cache, further sequences",
    "unused": "left alone",
}


@dataclass(frozen=True)
class Span:
    """Layers of a stage: the first, and how many."""

    first: int
    count: int

    def __str__(self) -> str:
        """As people say it, counted from 0."""
        if not self.count:
            return "no layers"
        return f"layers {self.first}-{self.first + self.count - 1}" if self.count > 1 else f"layer {self.first}"


@dataclass(frozen=True)
class Stage:
    """A pipeline stage: its layers, None when the model is not known, and the memory of one of its GPUs."""

    index: int
    span: Span | None
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Fact:
    """One line of a summary."""

    name: str
    value: str


@dataclass(frozen=True)
class Picture:
    """One layout.

    Parameters
    ----------
    title
        Its factors.
    model
        Name of the model.
    accelerator
        Name of the accelerator, None when it is not known.
    memory
        Bytes of one accelerator, 0 when it is not known.
    limit
        Bytes that the engine's setting allows on it, 0 when it is not known.
    nodes, stages
        Where ranks and layers are.
    traffic
        What crosses between nodes, None when the model is not known.
    fit
        The memory, None when model or accelerator are not known.
    notes
        What is not shown, and why.
    refused
        Why the chart or the engine would not start it.
    """

    title: str
    model: str
    accelerator: str | None
    memory: float
    limit: float
    nodes: tuple[Node, ...]
    stages: tuple[Stage, ...]
    traffic: Traffic | None
    fit: Fit | None
    notes: tuple[str, ...]
    refused: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """What is said of the memory."""
        return self.fit.verdict.value if self.fit else "not judged"

    @property
    def remedies(self) -> tuple[str, ...]:
        """What would make it fit; each alone is enough."""
        return remedies(self.fit) if self.fit and self.fit.verdict is not Verdict.FITS else ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The summary."""
        gpus = sum(len(node.gpus) for node in self.nodes)
        nodes = f"{len(self.nodes)} node{'s' * (len(self.nodes) > 1)}"
        lines = [Fact("GPUs", f"{gpus} on {nodes}"), Fact("memory", self.verdict)]
        if self.refused:
            lines.insert(0, Fact("refused", ", ".join(dict.fromkeys(finding.code for finding in self.refused))))
        if self.fit:
            plan, worst = self.fit.plan, self.fit.worst
            lines += [
                Fact("weights on the fullest GPU", gib(worst.weights)),
                Fact("left for the cache there", gib(max(worst.pool, 0.0))),
                Fact("cache in all", f"{self.fit.tokens:,} tokens"),
                Fact(f"sequences of {plan.length:,} tokens at once", f"{self.fit.full_sequences:.1f}"),
            ]
        if self.traffic and len(self.nodes) > 1:
            lines += [
                Fact("between nodes for each token", amount(self.traffic.total)),
                Fact("waits for the network for each token", str(self.traffic.steps)),
            ]
        return tuple(lines)


def amount(count: float) -> str:
    """Write bytes with the unit that fits."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def draw(
    name: str, layout: Layout, per_node: int, model: ModelShape | None, plan: Plan | None, notes: tuple[str, ...] = ()
) -> Picture:
    """Put a picture together.

    Parameters
    ----------
    name
        Name of the model.
    layout
        Parallel factors.
    per_node
        GPUs of a node.
    model
        The model's shape, None when it is not known.
    plan
        What is asked of the memory, None when it cannot be said; its layout is replaced by ``layout``.
    notes
        What is not shown, and why.

    Returns
    -------
    Picture
        The picture.
    """
    nodes = place(layout, per_node)
    plan = replace(plan, layout=layout) if plan else None
    if plan and plan.stages and len(plan.stages) != layout.pipeline:
        plan = replace(plan, stages=None)
    found = fit(plan) if plan else None
    return Picture(
        title=title(layout),
        model=name,
        accelerator=plan.accelerator.name if plan else None,
        memory=plan.accelerator.memory if plan else 0.0,
        limit=limit(plan) if plan else 0.0,
        nodes=nodes,
        stages=stages(layout, model, found),
        traffic=traffic(model, layout, nodes) if model else None,
        fit=found,
        notes=notes,
    )


def title(layout: Layout) -> str:
    """Name the factors that are more than one."""
    factors = {name: getattr(layout, name) for name in ("tensor", "pipeline", "data", "context")}
    named = [f"{name} {size}" for name, size in factors.items() if size > 1]
    return " x ".join(named) or "tensor 1"


def limit(plan: Plan) -> float:
    """Return the bytes up to which the engine may fill an accelerator."""
    share = plan.knob.fraction if plan.knob.engine == "vllm" and plan.knob.fixed is None else 1.0
    return share * plan.accelerator.memory


def stages(layout: Layout, model: ModelShape | None, found: Fit | None) -> tuple[Stage, ...]:
    """Return each stage with its layers and the memory of one of its GPUs."""
    if found:
        return tuple(Stage(s.stage, Span(s.first, s.count), terms(found, s)) for s in found.stages)
    if model is None:
        return tuple(Stage(index, None, ()) for index in range(layout.pipeline))
    counts = partition(len(model.layers), layout.pipeline, layout.engine)
    return tuple(Stage(i, Span(sum(counts[:i]), count), ()) for i, count in enumerate(counts))


def terms(found: Fit, stage: StageFit) -> tuple[Term, ...]:
    """Return the memory of one GPU of a stage by term; what is over the accelerator's size is shown as it is."""
    cache = max(stage.pool, stage.sequence)
    used = stage.weights + stage.overhead.total + cache
    sizes = {
        "weights": stage.weights,
        "activations": stage.overhead.activations,
        "graphs": stage.overhead.graphs,
        "context": stage.overhead.context,
        "sequence": stage.sequence,
        "cache": cache - stage.sequence,
        "unused": max(found.plan.accelerator.memory - used, 0.0),
    }
    return tuple(Term(key, TERMS[key], size) for key, size in sizes.items() if size > GIB / 1000)
