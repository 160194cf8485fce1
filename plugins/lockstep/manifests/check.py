"""The findings of a file of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep import share
from lockstep.findings import Finding
from lockstep.manifests import adopt, serve, start, workloads
from lockstep.manifests.group import look
from lockstep.manifests.words import in_words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.manifests.workloads import Workload
    from lockstep.rehearse.tree import Node

_RULES: Final = (
    start.law,
    start.nodes,
    start.same_everywhere,
    start.headless,
    start.order,
    start.restart,
    serve.loopback,
    serve.probes,
    serve.shared_memory,
    serve.unread,
)
_KINDS: Final = "LeaderWorkerSet, StatefulSet, Deployment, RayCluster, RayService and PodCliqueSet"


def check(objects: list[Node]) -> list[Finding]:
    """Check the objects of a file of manifests.

    Parameters
    ----------
    objects : list of Node
        What :func:`lockstep.manifests.read.objects` gives.

    Returns
    -------
    list of Finding
        What is wrong, and what could not be read. Their paths name objects.
    """
    found = list(workloads.find(objects))
    findings = [finding for workload in found for finding in _judge(workload, objects)]
    findings += [_gap(name, f"read are {_KINDS}", "Check it by hand.") for name in workloads.unread(objects)]
    if not any(workload.gpus for workload in found) and not findings:
        findings.append(_gap("", f"the file holds none of {_KINDS} with GPUs", "Name the file that does."))
    return findings


def _judge(workload: Workload, objects: list[Node]) -> Iterator[Finding]:
    group = look(workload, objects)
    if group is None:
        if workload.gpus:
            reason = "no vllm serve, sglang or trtllm-serve was found in the commands of its pods"
            yield _gap(workload.label, reason, "Write the command into the manifest where a check should see it.")
        return
    for rule in _RULES:
        yield from rule(group)
    yield from serve.services(group, objects)
    for finding in adopt.findings(group, share.folder("charts") / "serving"):
        yield in_words_of(group, finding)


def _gap(path: str, reason: str, fix: str) -> Finding:
    return Finding("ENG010", path, f"{path + ' was not' if path else 'nothing was'} checked: {reason}", fix)
