"""Values at random: no traceback, no silent pass of the law, and Helm's verdict in every case."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lockstep import helm, share
from lockstep.checks import run
from lockstep.codes import Layer, Severity, registry
from lockstep.inputs import Input
from lockstep.values import stack

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from lockstep.findings import Finding
    from lockstep.yamlfile import Values

CHART = share.folder("charts") / "serving"
BASE: Values = {
    "model": {"id": "deepseek-ai/DeepSeek-R1"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
}
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


def keys(schema: dict[str, object]) -> st.SearchStrategy[Values]:
    """Make values whose keys the schema knows, some of them with a value of any kind."""
    fields = {}
    for name, inner in schema.get("properties", {}).items():
        fields[name] = st.one_of(keys(inner), JUNK) if "properties" in inner else JUNK
    return st.fixed_dictionaries({}, optional=fields)


# Each key with values between which a rule decides; as a whole file they seldom break more than a few rules at once.
CHOICES: dict[str, list[object]] = {
    "group.nodes": [1, 2, "2", 3],
    "group.gpusPerNode": [1, 8, "8"],
    "parallelism.tensor": [None, 1, 8, 16, "16"],
    "parallelism.pipeline": [None, 1, 2, 3],
    "replicas": [0, 1, 2, 10, 11, "101"],
    "rollout.maxUnavailable": [0, 1, "0", "10%", "50%", "100%"],
    "rollout.maxSurge": [0, 1, "1", "10%", "100%"],
    "rollout.partition": [0, 1],
    "stack.name": ["lws", "deployment"],
    "stack.lws": [{}, {"onPodLoss": "replace"}],
    "supervisor.enabled": [True, False],
    "supervisor.heartbeatSeconds": [1, 5, 6],
    "engine.version": ["0.11.0", "0.11.1", "0.33.0", "0.9.2"],
    "engine.args": [{}, {"-tp": 8}, {"no-headless": True}, {"max-model-len": 1, "max_model_len": None}, {"por": 1}],
    "engine.env": [{"A": 1}, {"VLLM_PORT": None}, {"VLLM_DP_SIZE": 2}, {"GLOO_SOCKET_IFNAME": "^lo"}],
    "network.rdma": [None, {"resource": "rdma/hca", "count": 1}],
    "network.env": [{}, {"LOCKSTEP_X": 1}, {"GLOO_SOCKET_IFNAME": "eth0"}],
    "weights.source": ["hub", "pvc", "hostPath"],
    "weights.claim": [None, "models"],
    "weights.path": [None, "x", "/x"],
    "sharedMemory.size": ["16Gi", "1e10", "1.5Ti", 17179869184],
    "resources.limits": [{}, {"memory": "16Gi"}, {"memory": "1Ti", "nvidia.com/gpu": 8}, {"nvidia.com/gpu": "1"}],
    "worker.resources": [None, {"limits": {"memory": 1000000}}, {"requests": {"nvidia.com/gpu": 2}}],
    "pod.labels": [{}, {"a": "b"}, {"lockstep/role": "x"}, {"kueue.x-k8s.io/queue-name": None}],
    "leader.annotations": [{}, {"leaderworkerset.sigs.k8s.io/size": "1"}],
    "pod.volumes": [{}, {"cache": {"emptyDir": {}}}, {"launch": {"emptyDir": {}}}],
    "worker.volumeMounts": [{}, {"/cache": {"name": "x"}}, {"/data": {"name": "x"}}],
    "worker.probes": [
        {},
        {"liveness": {"httpGet": {"port": 8000}, "exec": {}}},
        {"startup": {"httpGet": {"port": "http"}}},
    ],
    "fullnameOverride": ["x", "1x", "a" * 50, "a" * 51, "a.b"],
}
NEAR = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in CHOICES.items()})


def nested(flat: dict[str, object]) -> Values:
    """Turn dotted keys into maps."""
    layers = []
    for path, value in flat.items():
        for key in reversed(path.split(".")):
            value = {key: value}
        layers.append(value)
    return stack([BASE, *layers])


def findings_of(values: Values, folder: Path) -> list[Finding]:
    """Check values as a file."""
    file = folder / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    return run(Input(file, (), CHART, "demo", "default"))


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(keys(SCHEMA))
def test_no_values_end_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, values: Values) -> None:
    """Any content under any key ends in findings."""
    findings = findings_of(stack([BASE, values]), tmp_path_factory.mktemp("fuzz"))

    assert all(finding.code in registry() and finding.message and finding.fix for finding in findings)


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(st.integers(1, 4), st.sampled_from([1, 2, 4, 8]), st.integers(1, 33), st.integers(1, 9))
def test_the_law_is_never_passed_over(
    tmp_path_factory: pytest.TempPathFactory, nodes: int, gpus: int, tensor: int, pipeline: int
) -> None:
    """PAR001 exactly when the product differs."""
    values = BASE | {
        "group": {"nodes": nodes, "gpusPerNode": gpus},
        "parallelism": {"tensor": tensor, "pipeline": pipeline},
    }
    codes = {finding.code for finding in findings_of(values, tmp_path_factory.mktemp("law"))}

    assert (tensor * pipeline != nodes * gpus) == ("PAR001" in codes)


@settings(max_examples=25, deadline=None, phases=[Phase.generate])
@given(NEAR)
def test_helm_and_the_checks_agree_on_random_values(
    tmp_path_factory: pytest.TempPathFactory, flat: dict[str, object]
) -> None:
    """The codes of the chart's layer, errors and warnings, are the same two sets."""
    folder = tmp_path_factory.mktemp("agree")
    findings = findings_of(nested(flat), folder)
    done = subprocess.run(
        [helm.find(), "install", "demo", CHART, "--values", folder / "values.yaml", "--dry-run=client"],
        capture_output=True,
        text=True,
        check=False,
    )
    by_helm = set(re.findall(r"^ *([A-Z]{3}[0-9]{3}) ", done.stderr if done.returncode else done.stdout, re.MULTILINE))
    rows = [registry()[finding.code] for finding in findings]
    wanted = Severity.ERROR if done.returncode else Severity.WARNING
    by_checks = {row.code for row in rows if row.layer is Layer.CHART and row.severity is wanted}

    assert "VAL002" not in {row.code for row in rows}
    assert by_helm == by_checks, done.stderr
    assert done.returncode == 0 or by_helm, done.stderr
