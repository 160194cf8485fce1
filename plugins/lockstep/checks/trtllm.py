"""What TensorRT-LLM cannot do. The chart's part: ``templates/engine/_trtllm.tpl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.checks.engine import flag_name
from lockstep.findings import Finding
from lockstep.release import table, version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release


def rules(release: Release) -> Iterator[Finding]:
    """Give what TensorRT-LLM refuses (``mapping.py``, ``commands/serve.py``)."""
    if release.engine.name != "trtllm":
        return
    yield from name(release)
    yield from config(release)
    layout = release.layout
    seen = {"parallelism.expert": layout.expert, "parallelism.tensor": layout.tensor}
    if layout.tensor % layout.expert:
        yield Finding(
            "PAR009",
            "parallelism.expert",
            f"parallelism.expert is {layout.expert}, but TensorRT-LLM deals experts to equal parts of the "
            f"parallelism.tensor {layout.tensor} ranks",
            f"Set parallelism.expert to a divisor of {layout.tensor}.",
            seen,
        )
    elif layout.expert > 1 and layout.context > 1:
        yield Finding(
            "PAR009",
            "parallelism.expert",
            f"parallelism.expert is {layout.expert}, but with parallelism.context {layout.context} TensorRT-LLM has no "
            "expert parallelism",
            "Remove one of them.",
            {**seen, "parallelism.context": layout.context},
        )


def config(release: Release) -> Iterator[Finding]:
    """Refuse a key of the config that a derived flag sets: which of the two wins hangs on the version."""
    derived = {row.name: row for row in release.engine.facts.flags}
    for key in release.engine.args:
        if flag_name(key) in ("config", "extra-llm-api-options"):
            path = release.engine.path(key)
            for entry in sorted(derived.keys() & table(release.engine.args, key).keys()):
                yield Finding(
                    "ENG001",
                    path,
                    f"{path} sets {entry}, which Lockstep derives",
                    f"Remove it and use {derived[entry].use}.",
                    {path: entry},
                )


def name(release: Release) -> Iterator[Finding]:
    """Refuse another name than the model's own before there was a flag for it."""
    engine, served = release.engine, release.model.served_name
    reference = release.model_reference
    own = reference.rpartition("/")[2] if reference.startswith("/") else reference
    since = engine.facts.own["servedNameSince"]
    if served != own and version(engine.version) < version(since):
        yield Finding(
            "ENG005",
            "model.servedName",
            f"the model is to be served as {served}, but TensorRT-LLM {engine.version} serves it as {own}: it takes a "
            f"name only from {since} on",
            f"Set model.servedName: {own}.",
            {"model.servedName": served, "engine.version": engine.version},
        )
