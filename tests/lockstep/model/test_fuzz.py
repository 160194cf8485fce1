"""Proves that no config.json, however broken, ends in a traceback, a hang or a silent guess."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockstep import share
from lockstep.checks import memory, model
from lockstep.inputs import Input
from lockstep.memory.layout import Layout
from lockstep.model.config import ConfigError, read_config
from lockstep.model.facts import configs
from lockstep.model.families import FAMILIES
from lockstep.model.rules import tensor_sizes, violations
from lockstep.release import build

if TYPE_CHECKING:
    from lockstep.findings import Finding
    from lockstep.release import Release

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = sorted({key for config in configs().values() for key in config})
# What Python's reader of JSON takes beyond JSON, and numbers at the limits of what a size can be.
NUMBERS = st.sampled_from([0, -1, 999, 1001, 2**53 - 1, 10**400, 0.5, float("inf"), float("nan")]) | st.integers()
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALUES = {
    "model": {"id": "example/one", "config": "config.json"},
    "engine": {"name": "vllm"},
    "stack": {"name": "lws"},
    "group": {"nodes": 2, "gpusPerNode": 8},
    "parallelism": {"tensor": 8, "pipeline": 2},
    "pod": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
}


def read(config: dict[str, object]) -> None:
    """Read a config and judge a layout; only the error that is one sentence may come out of reading."""
    try:
        shape = read_config(config, "config.json")
    except ConfigError:
        return
    layout = Layout("vllm", 8, 2)
    violations(shape, layout)
    tensor_sizes(shape, layout)
    assert shape.parameters > 0


@FUZZ
@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.sampled_from(sorted(FAMILIES)))
def test_anything_under_the_known_keys(config: dict[str, object], architecture: str) -> None:
    """Random values under the keys that families read."""
    read({**config, "architectures": [architecture]})


@FUZZ
@given(st.sampled_from(sorted(configs())), st.sampled_from(KEYS), JSON)
def test_a_real_config_with_one_key_broken(name: str, key: str, value: object) -> None:
    """A config that people use, with one value replaced."""
    read({**configs()[name], key: value})


@FUZZ
@given(st.sampled_from(sorted(configs())), st.data())
def test_a_real_config_with_one_key_missing(name: str, data: st.DataObject) -> None:
    """A config that people use, with one key gone, on either level."""
    config = dict(configs()[name])
    lost = data.draw(st.sampled_from(sorted(config)))
    config.pop(lost)

    read(config)


@pytest.mark.parametrize("name", sorted(configs()))
def test_number_where_a_section_belongs(name: str) -> None:
    """Sections that are no mapping are passed over or refused, never walked into."""
    read({**configs()[name], "quantization_config": 5, "vision_config": [], "text_config": "none"})


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Return a release whose model is the config.json beside its values, on accelerators that are known."""
    file = tmp_path_factory.mktemp("release") / "values.yaml"
    file.write_text(json.dumps(VALUES), encoding="utf-8")
    given_values = Input(file, (), share.folder("charts") / "serving", "demo", "default")
    return build(given_values, given_values.values())


def codes(release: Release, content: bytes, name: str = "config.json") -> set[str]:
    """Check a release with such a file beside its values; every finding must be one that can be printed."""
    (release.folder / name).write_bytes(content)
    began = time.process_time()
    findings: list[Finding] = [*model.shape(release), *memory.room(release)]

    assert time.process_time() - began < 5
    assert all(finding.message and finding.fix for finding in findings)
    return {finding.code for finding in findings}


@FUZZ
@given(st.sampled_from(sorted(configs())), st.data())
def test_a_file_with_broken_numbers(release: Release, name: str, data: st.DataObject) -> None:
    """Up to three values, also of nested sections, are replaced: reading, shape, memory and remedies all end."""
    config = json.loads(json.dumps(configs()[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        section = data.draw(st.sampled_from([config, *(v for v in config.values() if isinstance(v, dict) and v)]))
        section[data.draw(st.sampled_from(sorted(section)))] = data.draw(NUMBERS | JSON)

    codes(release, json.dumps(config).encode())


@FUZZ
@given(st.integers(1, 200), st.integers(1, 200))
def test_the_heads_of_a_file_are_judged(release: Release, heads: int, kv_heads: int) -> None:
    """PAR002 and PAR003 exactly when heads cannot be dealt to 8 ranks: what can be read is never passed over."""
    config = {**configs()["qwen/qwen3-8b"], "num_attention_heads": heads, "num_key_value_heads": kv_heads}
    found = codes(release, json.dumps(config).encode())

    assert (heads % 8 != 0) == ("PAR002" in found)
    assert (max(kv_heads, 8) % min(kv_heads, 8) != 0) == ("PAR003" in found)


@FUZZ
@given(st.binary(max_size=40) | st.sampled_from([b"[]", b"null", b"1e400", b"NaN", b'"config"', b"\xef\xbb\xbf{}"]))
def test_a_file_that_is_no_object(release: Release, content: bytes) -> None:
    """Bytes, lists and lone values are refused as a file that cannot be used."""
    assert {"PAR021"} == codes(release, content)


@pytest.mark.parametrize("depth", [10, 900, 950, 980, 100_000])
@pytest.mark.parametrize("key", ["architectures", "hidden_size", "text_config", "quantization_config"])
def test_a_file_that_is_nested_deeply(release: Release, key: str, depth: int) -> None:
    """A value that nests as deeply as can be read, or deeper, is refused or passed over, never walked."""
    rest = json.dumps({k: v for k, v in configs()["qwen/qwen3-8b"].items() if k != key})
    found = codes(release, f'{rest[:-1]}, "{key}": {"[" * depth}{"]" * depth}}}'.encode())

    assert found <= {"PAR021"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_a_file_in_another_encoding(release: Release, encoding: str) -> None:
    """Only UTF-8 without a mark is JSON."""
    text = json.dumps({**configs()["qwen/qwen3-8b"], "name": "\xe9"}, ensure_ascii=False)

    assert {"PAR021"} == codes(release, text.encode(encoding))


@pytest.mark.parametrize(
    "changes",
    [
        {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1001},
        {"architectures": ["NemotronHForCausalLM"], "hybrid_override_pattern": "M*-E" * 251},
        {"architectures": ["NemotronHForCausalLM"], "layers_block_type": ["mlp"] * 10**6},
    ],
    ids=["number", "pattern", "list"],
)
def test_more_layers_than_any_model_has(release: Release, changes: dict[str, object]) -> None:
    """The arithmetic goes over the layers, so their number is bounded in every way of writing it."""
    assert {"PAR021"} == codes(release, json.dumps({**configs()["qwen/qwen3-8b"], **changes}).encode())


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "hf_quant_config.json"])
@pytest.mark.parametrize(
    "content", [b"\xff", b"[]", b'{"metadata": {"total_size": -1}, "quantization": {"quant_algo": 1}}']
)
def test_broken_file_beside_it(release: Release, name: str, content: bytes) -> None:
    """The index and the quantisation that lie beside a config are read with the same care."""
    codes(release, json.dumps(configs()["qwen/qwen3-8b"]).encode())
    found = codes(release, content, name)
    (release.folder / name).unlink()

    assert {"PAR021"} == found
