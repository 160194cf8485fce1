"""Findings of a release in the words of a manifest: flags and fields in place of values keys."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lockstep.manifests.command import NAMES

if TYPE_CHECKING:
    from lockstep.findings import Finding
    from lockstep.manifests.group import Group

_KEYS: Final = {
    "parallelism.tensor": "tensor",
    "parallelism.pipeline": "pipeline",
    "parallelism.data": "data",
    "parallelism.context": "context",
    "parallelism.expert: all": "experts",
    "parallelism.expert": "experts",
    "engine.executor": "executor",
    "model.id": "model",
}
_FLAG: Final = re.compile(r"engine\.args\.(\S+?)([.,:;]?(?:\s|$))")
# Whole phrases that only make sense to somebody who writes values.
_PHRASES: Final = {
    "Name the fast fabric (network.rdma, as values/fabrics do)": "Ask for the RDMA devices in the pods' limits",
    "Set model.config to the path of the model's config.json, or check": "Check",
    "Raise engine.version.": "Take a newer image.",
    "Raise engine.version, or": "Take a newer image, or",
    "Set engine.image.repository to an image that has it": "Take an image that has it",
    "engine.version": "the version of the image",
    "engine.env.": "env ",
    "network.interface": "it",
}


def in_words_of(group: Group, finding: Finding) -> Finding:
    """Say a finding of the release that a group was adopted as in the group's own words."""

    def said(text: str) -> str:
        for phrase, own in _PHRASES.items():
            text = text.replace(phrase, own)
        names = NAMES[group.engine.name]
        for key, part in _KEYS.items():
            text = text.replace(key, f"--{names[part][0]}" if names.get(part) else part)
        text = _FLAG.sub(lambda found: f"--{found[1].lstrip('-')}{found[2]}", text)
        text = text.replace("group.nodes", group.workload.size_path)
        text = text.replace("group.gpusPerNode", "the GPUs of a pod")
        return text.replace("gpusPerNode", "GPUs")

    return replace(
        finding,
        path=group.workload.label,
        message=said(finding.message),
        fix=said(finding.fix),
        seen={said(key): value for key, value in finding.seen.items()},
    )
