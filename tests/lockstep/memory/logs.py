"""Public logs as data, and what Lockstep predicts for each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import yaml

from lockstep.memory.accelerators import Accelerator
from lockstep.memory.budget import Knob
from lockstep.memory.cache import BF16, FP8, sequence_bytes
from lockstep.memory.fit import Fit, Plan, fit
from lockstep.memory.layout import Layout
from lockstep.memory.units import GIB
from lockstep.model.config import read_config
from lockstep.model.facts import configs

if TYPE_CHECKING:
    from lockstep.model.shape import ModelShape

DATA = Path(__file__).with_name("logs.yaml")
Row = dict[str, object]


@dataclass(frozen=True)
class Comparison:
    """One number of a log beside its prediction.

    ``size`` is what the error is a share of: the number itself, or the accelerator for what is left on it.
    """

    row: Row
    metric: str
    seen: float
    predicted: float
    size: float

    @property
    def error(self) -> float:
        """Error as a share: positive when too much was predicted."""
        return (self.predicted - self.seen) / self.size

    @property
    def name(self) -> str:
        """Name of the test."""
        return f"{self.row['what']}: {self.metric}"


def comparisons() -> list[Comparison]:
    """Return every number of every log with its prediction."""
    rows: list[Row] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return [comparison for row in rows for comparison in compare(row)]


def compare(row: Row) -> list[Comparison]:
    """Return the numbers of one log with their predictions."""
    found = fitted(row)
    stage = found.stages[0]
    pairs: list[tuple[str, float, float]] = [
        ("weights", stage.weights / GIB, 1.0),
        ("pool", stage.pool / GIB, found.plan.accelerator.memory / GIB),
        ("sequence", cache(row, found) / GIB, 1.0),
    ]
    if "given" in row:
        pairs.append(("tokens", number(row, "given") * GIB / cache(row, found) * found.plan.length, 1.0))
    return [
        Comparison(row, metric, number(row, metric), predicted, size if metric == "pool" else number(row, metric))
        for metric, predicted, size in pairs
        if metric in row
    ]


def cache(row: Row, found: Fit) -> float:
    """Return the bytes of one sequence on one GPU, or on all stages together."""
    plan, layers = found.plan, found.plan.model.layers
    if not row.get("whole"):
        layers = layers[: found.stages[0].count]
    return sequence_bytes(layers, plan.length, plan.layout, plan.number)


def fitted(row: Row) -> Fit:
    """Return the fit of the plan that a log describes."""
    batch = cast("list[int]", row.get("batch", [2048, 256]))
    memory = number(row, "memory") if "memory" in row else 80.0
    layout = Layout("vllm", tensor=int(number(row, "tensor")), pipeline=cast("int", row.get("pipeline", 1)))
    return fit(
        Plan(
            model=model(row),
            layout=layout,
            accelerator=Accelerator("as logged", int(memory * GIB), 8, batch[0], batch[1], ()),
            # None of these versions counted CUDA graphs against the fraction.
            knob=Knob("vllm", number(row, "fraction") if "fraction" in row else 0.9, graphs=False),
            length=cast("int", row.get("length", 8192)),
            number=FP8 if row.get("cache") == "fp8" else BF16,
            batch_tokens=batch[0],
            sequences=batch[1],
            stages=tuple(cast("list[int]", row["stages"])) if "stages" in row else None,
        )
    )


def model(row: Row) -> ModelShape:
    """Return the shape of a log's model."""
    config = cast("Row", row["config"]) if "config" in row else dict(configs()[str(row["model"]).lower()])
    if "quantization" in row:
        config["quantization_config"] = row["quantization"]
    return read_config(config, str(row["what"]))


def number(row: Row, key: str) -> float:
    """Return a number of a row."""
    return float(cast("float", row[key]))
