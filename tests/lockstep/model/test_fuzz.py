"""Proves that no config.json, however broken, ends in a traceback, a hang or a silent guess."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockstep.memory.layout import Layout
from lockstep.model.config import ConfigError, read_config
from lockstep.model.facts import configs
from lockstep.model.families import FAMILIES
from lockstep.model.rules import tensor_sizes, violations

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = sorted({key for config in configs().values() for key in config})
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
