"""Manifests that others wrote are read as they are, and one spoilt number in each is found.

The files are small copies of public examples in their shapes, each with its source in the first line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.codes import Severity
from lockstep.manifests import read
from lockstep.manifests.check import check

FILES = Path(__file__).parent / "files"
SPOILT = [
    # file, what is replaced by what, the codes of all findings, fragments of the messages and fixes
    pytest.param("lws-vllm-ray", {}, [], [], id="vllm over ray"),
    pytest.param("lws-sglang", {}, [], [], id="sglang"),
    pytest.param("lws-data-parallel", {}, [], [], id="data parallel"),
    pytest.param("statefulset-sglang", {}, [], [], id="statefulset"),
    pytest.param("raycluster-script", {}, [], [], id="raycluster"),
    pytest.param("rayservice", {}, ["ENG010", "OPS012"], ["ray-llm:2.52.0", "/dev/shm"], id="rayservice"),
    pytest.param("podcliqueset", {}, ["OPS012"], [], id="podcliqueset"),
    pytest.param("deployment-stock", {}, ["OPS013"], ["90 s", "startupProbe"], id="deployment"),
    pytest.param(
        "lws-in-image", {}, ["ENG010"], ["LeaderWorkerSet/tensorrt was not checked"], id="program in an image"
    ),
    pytest.param(
        "lws-vllm-ray",
        {"--pipeline_parallel_size 2": "--pipeline_parallel_size=4"},
        ["PAR001"],
        ["tensor 8 x pipeline 4 = 32 GPUs", "1 x 8 + 1 x 8 = 16"],
        id="law over ray",
    ),
    pytest.param(
        "raycluster-script",
        {'"--pipeline-parallel-size" "2"': '"--pipeline-parallel-size" "7"'},
        ["PAR001"],
        ["tensor 4 x pipeline 7 = 28 GPUs", "= 8"],
        id="law in an array of a script",
    ),
    pytest.param(
        "rayservice",
        {"pipeline_parallel_size: 2": "pipeline_parallel_size: 3"},
        ["ENG010", "OPS012", "PAR001"],
        ["= 24 GPUs", "2 x 8 = 16"],
        id="law in a serve config",
    ),
    pytest.param(
        "lws-data-parallel",
        {'DP_SIZE_LOCAL, value: "8"': 'DP_SIZE_LOCAL, value: "9"'},
        ["PAR001"],
        ["tensor 1 x data 18 = 18 GPUs"],
        id="law of a sum in a script",
    ),
    pytest.param("statefulset-sglang", {"--tp-size 16": "--tp-size 32"}, ["PAR001"], ["= 32 GPUs"], id="law of a set"),
    pytest.param("statefulset-sglang", {"--nnodes 2": "--nnodes 4"}, ["ENG011"], ["4 nodes", "2 pods"], id="nodes"),
    pytest.param(
        "statefulset-sglang", {"  podManagementPolicy: Parallel\n": ""}, ["STK018"], ["OrderedReady"], id="order"
    ),
    pytest.param(
        "statefulset-sglang",
        {"  publishNotReadyAddresses: true\n": ""},
        ["NET005"],
        ["Service sglang-master"],
        id="names",
    ),
    pytest.param(
        "statefulset-sglang", {"memory: 1500Gi": "memory: 250Gi"}, ["OPS002"], ["250Gi"], id="shared memory and limit"
    ),
    pytest.param("lws-sglang", {", role: leader}": "}"}, ["NET003"], ["also selects the worker"], id="service"),
    pytest.param(
        "lws-sglang",
        {"tcpSocket: {port: 40000}": "tcpSocket: {port: 30000}"},
        ["OPS004"],
        ["30000", "serves 40000"],
        id="probe",
    ),
    pytest.param(
        "lws-sglang", {'              - "0.0.0.0"\n': "              - localhost\n"}, ["NET004"], [], id="loopback"
    ),
    pytest.param(
        "lws-sglang", {", rdma/hca: 1": ""}, ["PAR010"], ["--tp-size: 1", "--pp-size: 2"], id="no fast fabric"
    ),
    pytest.param("podcliqueset", {" --headless": ""}, ["ENG013", "OPS012"], ["--headless"], id="headless"),
    pytest.param(
        "deployment-stock", {"v0.16.0": "v0.17.1"}, ["ENG007", "OPS013"], ["--disable-log-requests"], id="removed flag"
    ),
    pytest.param("deployment-stock", {"size=2": "size=1"}, ["MEM002", "OPS013", "PAR017"], ["1 stay idle"], id="idle"),
    pytest.param(
        "deployment-stock",
        {"Qwen/Qwen3-32B": "meta-llama/Llama-3.3-70B-Instruct"},
        ["MEM001", "OPS013"],
        ["--pipeline-parallel-size: 2 over 4 GPUs", "h100-80gb"],
        id="memory",
    ),
    pytest.param(
        "deployment-stock",
        {"size=2": "size=3", 'gpu: "2"': 'gpu: "3"'},
        ["OPS013", "PAR002", "PAR003", "PAR005"],
        ["--tensor-parallel-size"],
        id="heads",
    ),
]


@pytest.mark.parametrize(("file", "changes", "expected", "fragments"), SPOILT)
def test_a_file_is_judged(
    file: str, changes: dict[str, str], expected: list[str], fragments: list[str], tmp_path: Path
) -> None:
    """The codes are these and no others, and the words are those of the manifest."""
    text = (FILES / f"{file}.yaml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    spoilt = tmp_path / "objects.yaml"
    spoilt.write_text(text, encoding="utf-8")

    findings = check(read.objects(spoilt))

    said = "\n".join(f"{finding.code} {finding.message} {finding.fix}" for finding in findings)
    assert expected == sorted({finding.code for finding in findings}), said
    assert [] == [fragment for fragment in fragments if fragment not in said], said
    assert not any(word in said for word in ("parallelism.", "engine.args", "group.", "model.config")), said


def test_what_the_serving_chart_renders_has_no_fault(goldens: list[Path]) -> None:
    """Every example of the chart, rendered, passes as manifests, too."""
    errors = {
        f"{file.name}: {finding.message}"
        for file in goldens
        for finding in check(read.objects(file))
        if finding.severity is Severity.ERROR
    }

    assert set() == errors


def test_a_balancing_that_the_chart_never_renders_is_passed_over(goldens: list[Path], tmp_path: Path) -> None:
    """Objects may have been edited by hand, or stand half templated in a file."""
    spoilt = tmp_path / "objects.yaml"
    line = "name: LOCKSTEP_LOAD_BALANCING\n          value: "
    text = goldens[0].read_text(encoding="utf-8")
    assert f"{line}internal" in text
    spoilt.write_text(text.replace(f"{line}internal", f'{line}""'), encoding="utf-8")

    assert {Severity.WARNING} >= {finding.severity for finding in check(read.objects(spoilt))}
