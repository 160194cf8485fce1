"""A variable of the contract that is missing, empty or not expanded stops the start and is named."""

from __future__ import annotations

import pytest

from .conftest import CONTRACT, SUPERVISED, Pod


@pytest.mark.parametrize("name", CONTRACT)
@pytest.mark.parametrize(("value", "said"), [(None, "is missing"), ("", "is empty")], ids=["missing", "empty"])
def test_variable_is_required(pod: Pod, name: str, value: str | None, said: str) -> None:
    """Every variable of the contract is needed, and the message names the one that is not there."""
    ended = pod.set(**{name: value}).run()

    assert 64 == ended.code
    assert f"LOCKSTEP_{name} {said}" in ended.stderr
    assert "" == ended.stdout


@pytest.mark.parametrize("name", [name for name in SUPERVISED if name != "SUPERVISOR"])
def test_supervisor_needs_its_timers(pod: Pod, name: str) -> None:
    """The timers of the supervisor are needed where it is on."""
    ended = pod.set(**{**SUPERVISED, name: None}).run()

    assert 64 == ended.code
    assert f"LOCKSTEP_{name} is missing" in ended.stderr


@pytest.mark.parametrize("name", ["LEADER_ADDRESS", "GROUP", "NODE_RANK", "INTERFACE", "REVISION"])
def test_reference_that_kubelet_left(pod: Pod, name: str) -> None:
    """A reference that kubelet could not expand is no value."""
    ended = pod.set(**{name: "$(LWS_LEADER_ADDRESS).x"}).run()

    assert 64 == ended.code
    assert f"LOCKSTEP_{name} is '$(LWS_LEADER_ADDRESS).x': the reference in it was not expanded" in ended.stderr


def test_all_faults_are_told_at_once(pod: Pod) -> None:
    """One start names every variable that is wrong."""
    ended = pod.set(GROUP=None, MODEL="", PORT="http").run()

    assert 64 == ended.code
    assert "LOCKSTEP_GROUP is missing" in ended.stderr
    assert "LOCKSTEP_MODEL is empty" in ended.stderr
    assert "LOCKSTEP_PORT is 'http': a whole number is expected" in ended.stderr


def test_an_offset_is_added_to_the_rank_once(pod: Pod) -> None:
    """A stack that cannot add says what to add, and what the start runs below it does not add again."""
    offset = pod.set(NODE_RANK="1", NODE_COUNT="3", LOCKSTEP_RANK_OFFSET="1").run("engine")
    plain = pod.set(NODE_RANK="2", NODE_COUNT="3", LOCKSTEP_RANK_OFFSET=None).run("engine")

    assert 0 == offset.code
    assert plain.stdout == offset.stdout


def test_rank_beyond_the_group(pod: Pod) -> None:
    """A rank that the group does not have is refused with both numbers."""
    ended = pod.set(NODE_RANK="2").run()

    assert 64 == ended.code
    assert "LOCKSTEP_NODE_RANK is 2, but LOCKSTEP_NODE_COUNT is 2" in ended.stderr


def test_unknown_engine(pod: Pod) -> None:
    """An engine without a script is refused by name."""
    ended = pod.set(ENGINE="vlm").run()

    assert 64 == ended.code
    assert "LOCKSTEP_ENGINE is 'vlm'" in ended.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SUPERVISOR", "true false"),
        ("EXECUTOR", "mp ray"),
        ("LOAD_BALANCING", "internal hybrid external"),
    ],
)
def test_word_that_is_none(pod: Pod, name: str, words: str) -> None:
    """A switch that is none of its words does not silently mean the default."""
    ended = pod.set(**{name: "yes"}).run()

    assert 64 == ended.code
    assert f"LOCKSTEP_{name} is 'yes': one of {words} is expected" in ended.stderr


def test_unknown_command(pod: Pod) -> None:
    """A word that is no command is refused with the list of commands."""
    ended = pod.run("engines")

    assert 64 == ended.code
    assert "'engines' is no command of launch.sh" in ended.stderr
