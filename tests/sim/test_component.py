"""The descriptions under ``ci/sim/components`` are complete: pinned, and without a placeholder that nobody fills."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from ci.sim.component import EVERY, fill, load

# What a cluster knows beside its ports.
NAMES = {"memory", "pki", "files", "kubeconfig", "source", "repositories", "path"}


@pytest.mark.parametrize("name", EVERY)
def test_a_component_is_pinned_to_a_release(name: str) -> None:
    """The version is read from go.mod, the only place where it is written."""
    assert re.fullmatch(r"v\d+\.\d+\.\d+", load(name).version())


def test_no_two_processes_share_the_name_of_a_port() -> None:
    """Ports are looked up by name across components, as etcd's is by the API server."""
    ports = Counter(port for name in EVERY for process in load(name).processes for port in process.ports)

    assert {1} == set(ports.values())


def test_every_placeholder_has_a_value() -> None:
    """A misspelt placeholder would stop the cluster in the middle of its start."""
    components = [load(name) for name in EVERY]
    ports = {f"port.{port}" for component in components for process in component.processes for port in process.ports}
    texts = [text for component in components for text in component.files.values()]
    for component in components:
        for process in component.processes:
            texts += [*process.argv, *process.ready, *process.environment.values()]

    used = {name for text in texts for name in re.findall(r"\$\{([^}]*)\}", text)}

    assert used <= NAMES | ports


def test_fill_refuses_a_name_it_does_not_know() -> None:
    """An empty argument would be worse than no start."""
    with pytest.raises(KeyError, match=r"port\.nobody"):
        fill("--port=${port.nobody}", {"port.etcd": "1"})


def test_fill_leaves_a_shells_and_a_templates_text_alone() -> None:
    """Only ``${name}`` is ours."""
    assert "$HOME {{ .x }} 7" == fill("$HOME {{ .x }} ${port.etcd}", {"port.etcd": "7"})
