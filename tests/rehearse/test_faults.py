"""The script of faults is read strictly, and what cannot be done is refused before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep.errors import UsageError
from lockstep.rehearse.faults import Fault, check, parse_fault, parse_kill, read_faults

from .builders import container, group, lws, pod_template

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (Fault("kill", 1, 5.0), "kill worker@5"),
        (Fault("kill", 0, 0.5, what="supervisor"), "kill leader@0.5 what=supervisor"),
        (Fault("stop", 3, 2.0, seconds=4.0), "stop worker-3@2 for=4"),
        (Fault("exit", 1, 1.0, from_start=True, code=3), "exit worker@start+1 code=3"),
        (Fault("delay", 1, seconds=20.0), "delay worker for=20"),
        (Fault("cut", 2, 0.0, seconds=30.0), "cut worker-2@0 for=30"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reading(expected: Fault, text: str) -> None:
    """What is typed is understood, and is printed again as it was typed."""
    found = parse_fault(text)

    assert expected == found
    assert expected == parse_fault(str(found))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("unknown kind 'explode'", "explode worker@1"),
        ("ROLE.*is expected", "kill worker"),
        ("ROLE.*is expected", "kill node-1@5"),
        ("ROLE.*is expected", "kill worker@-1"),
        ("ROLE.*is expected", "kill"),
        ("workers count from 1", "kill worker-0@5"),
        ("unknown port", "kill worker@5 port=1"),
        ("no key=value", "kill worker@5 now"),
        ("numbers", "stop worker@5 for=ever"),
        ("what=gpu; there are: engine, supervisor, container", "kill worker@5 what=gpu"),
        ("for=SECONDS is missing", "delay worker"),
    ],
    ids=lambda value: value,
)
def test_refusals(message: str, text: str) -> None:
    """One message that names what cannot be read."""
    with pytest.raises(UsageError, match=message):
        parse_fault(text)


def test_kill_option() -> None:
    """--kill is short for a SIGKILL to the engine of a rank."""
    assert Fault("kill", 2, 7.0) == parse_kill("worker-2@7")


def test_file(tmp_path: Path) -> None:
    """A YAML file holds a list of them."""
    path = tmp_path / "faults.yaml"
    path.write_text("- {kind: kill, target: leader@1}\n- {kind: stop, target: worker@start+2, for: 3}\n")

    assert [Fault("kill", 0, 1.0), Fault("stop", 1, 2.0, True, 3.0)] == read_faults(path)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("not YAML: .*line 1, column 3", b"[a"),
        ("not YAML: .*position 1", b"a\xff"),
        ("a list of faults", b"kind: kill"),
        ("a list of faults", b"- kill"),
        ("unknown at", b"- {kind: kill, at: 1}"),
    ],
    ids=["broken", "bytes", "a mapping", "words", "unknown key"],
)
def test_files_that_are_none(tmp_path: Path, message: str, content: bytes) -> None:
    """One message with the file's name."""
    path = tmp_path / "faults.yaml"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=message):
        read_faults(path)


def test_missing_file(tmp_path: Path) -> None:
    """One message with the file's name."""
    with pytest.raises(UsageError, match=r"none\.yaml: No such file"):
        read_faults(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("the group has ranks 0 to 1", "kill worker-2@1"),
        ("needs network namespaces", "cut worker@1"),
        ("only the stand-in", "exit worker@1"),
        ("only the stand-in", "slow-load worker for=3"),
    ],
    ids=lambda value: value,
)
def test_what_cannot_be_done_here(message: str, text: str) -> None:
    """A group of two on loopback with the real engine."""
    with pytest.raises(UsageError, match=message):
        check([parse_fault(text)], group(), namespaces=False, standin=False)


@pytest.mark.parametrize("variables", [{"LOCKSTEP_ENGINE": "trtllm"}, {"LOCKSTEP_EXECUTOR": "ray"}], ids=["mpi", "ray"])
def test_engine_of_a_node_that_the_leader_fills(variables: dict[str, str]) -> None:
    """There is no command on a worker that could end by itself; on the leader there is."""
    env = [{"name": name, "value": value} for name, value in ({"LOCKSTEP_ENGINE": "vllm"} | variables).items()]
    made = group(*lws(leader=pod_template(container(env=env))))
    check([parse_fault("exit leader@1")], made, namespaces=False, standin=True)

    with pytest.raises(UsageError, match="use kill"):
        check([parse_fault("exit worker@1")], made, namespaces=False, standin=True)
