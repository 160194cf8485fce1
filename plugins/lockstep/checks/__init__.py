"""The checks: each a generator over one release, registered here once.

A check reads like the rule it states. It yields :class:`lockstep.findings.Finding` and never raises.
Rules that the chart holds, too, stand in ``charts/serving/templates``; ``tests/cases`` keeps the two in step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from lockstep.checks import (
    containers,
    engine,
    layout,
    memory,
    metadata,
    model,
    names,
    network,
    plugins,
    pod,
    queue,
    rollout,
    schema,
    security,
    sglang,
    stack,
    supervisor,
    trtllm,
    vllm,
    weights,
)
from lockstep.errors import ValuesError
from lockstep.findings import Finding
from lockstep.release import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockstep.inputs import Input
    from lockstep.release import Release

    Check: TypeAlias = Callable[[Release], Iterator[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    layout.law,
    layout.factors,
    layout.balancing,
    layout.tensor_across_nodes,
    model.shape,
    memory.room,
    engine.derived_flags,
    engine.flags_given_twice,
    engine.owned_variables,
    engine.references,
    engine.flags_of_version,
    engine.image_version,
    engine.executor,
    engine.ssh_key,
    engine.stock_image,
    engine.multi_node_version,
    vllm.rules,
    sglang.rules,
    trtllm.rules,
    network.gloo_interface,
    network.device_lists,
    network.rdma_devices,
    stack.foreign_blocks,
    stack.workers_of_one_node,
    stack.one_node_deployment,
    stack.partition,
    stack.plain_rollout,
    stack.one_template,
    stack.spread_on_grove,
    stack.groups_replaced_together,
    stack.groups_without_gang,
    queue.manager,
    queue.unread,
    queue.scheduler,
    queue.surge_in_percent,
    queue.topology,
    supervisor.heartbeats,
    supervisor.replaced_pods,
    supervisor.sidecars,
    rollout.no_progress,
    rollout.surge_of_one,
    rollout.downtime,
    rollout.all_held_back,
    rollout.no_eviction,
    rollout.autoscaling,
    names.possible,
    names.length,
    metadata.owned_keys,
    pod.gpu_requests,
    containers.names,
    containers.gpus,
    containers.sources,
    containers.mounts,
    pod.shared_memory,
    pod.mounts,
    pod.probes,
    pod.startup_budget,
    weights.settings,
    weights.download,
    security.memory_lock,
    security.host_path,
    security.node_rights,
    plugins.usable,
    plugins.run,
)


def run(given: Input) -> list[Finding]:
    """Check one release.

    Parameters
    ----------
    given : Input
        The release.

    Returns
    -------
    list of Finding
        All findings. A file that cannot be read, or values that do not fit the schema, end the checks there, as they
        end Helm: the rules after them would judge values that are not what they seem. A release name that Helm does
        not take leaves the values as they are, so they are judged, too.

    Raises
    ------
    UsageError
        If a file or the chart is missing.
    """
    try:
        values = given.values()
    except ValuesError as error:
        line = {} if error.line is None else {"line": error.line}
        return [Finding("VAL001", "", str(error), "Mend the file; `helm template` may not notice this.", line)]
    misnamed, unfit = list(names.release(given)), list(schema.check(given.chart, values))
    if unfit:
        return misnamed + unfit
    release = build(given, values)
    said = {finding.seen["name"] for finding in misnamed}  # the rules of object names need not refuse it again
    found = (finding for check in CHECKS for finding in check(release))
    return misnamed + [each for each in found if each.code != "STK002" or each.seen["name"] not in said]
