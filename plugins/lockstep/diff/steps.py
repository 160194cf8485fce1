"""The way from one rendered release to another in steps: what each group does in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockstep.diff.change import at_a_time
from lockstep.diff.groups import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockstep.diff.groups import Groups
    from lockstep.release import Release
    from lockstep.yamlfile import Values

STATES: Final = {
    "old": "serves as it is",
    "load": "loads the model, serves nothing",
    "new": "serves as it will be",
    "none": "is not there",
}
MOST: Final = 12  # groups in a picture; the others go the same way


@dataclass(frozen=True)
class Row:
    """One group: its name, and its state before, in each step, and after."""

    name: str
    states: tuple[str, ...]


@dataclass(frozen=True)
class Track:
    """The groups of one object.

    Parameters
    ----------
    title : str
        The object, and whether it is frozen and exchanged.
    rows : tuple of Row
        Its groups, at most MOST of them; all rows have as many states.
    more : int
        Groups that are not shown.
    serving : int
        The fewest groups that serve at any time; those that are not shown count as serving.
    spare : int
        GPUs that are needed beyond those of before.
    """

    title: str
    rows: tuple[Row, ...]
    more: int
    serving: int
    spare: int


def tracks(before: Sequence[Values], after: Sequence[Values], release: Release) -> list[Track]:
    """Work out the steps.

    Parameters
    ----------
    before, after : sequence of Values
        The rendered objects.
    release : Release
        The release as it will be.

    Returns
    -------
    list of Track
        One for each object that stays, and one for those that are exchanged.
    """
    old, new = find(before), find(after)
    went = [groups for key, groups in old.items() if key not in new]
    came = [groups for key, groups in new.items() if key not in old]
    found = [_kept(old[key], new[key], release) for key in new if key in old]
    if went or came:
        found.append(_exchanged(went, came, release))
    return found


def _exchanged(went: list[Groups], came: list[Groups], release: Release) -> Track:
    """Let what is frozen go whole, and what comes start when GPUs are free."""
    gone = [Row(_of(each, n), ("old", "none", "none")) for each in went for n in range(_count(each, release))]
    made = [Row(_of(each, n), ("none", "load", "new")) for each in came for n in range(_count(each, release))]
    title = "frozen, so exchanged" if went and came else "removed" if went else "made"
    spare = max(0, len(made) - len(gone)) * release.group.gpus
    return _track(title, [*gone, *made], spare)


def _kept(old: Groups, new: Groups, release: Release) -> Track:
    had, has = _count(old, release), _count(new, release)
    title, spare = f"{new.kind} {new.name}", max(0, has - had) * release.group.gpus
    added = [Row(_of(new, n), ("none", "load", "new")) for n in range(had, has)]
    dropped = [Row(_of(new, n), ("old", "none", "none")) for n in range(has, had)]
    stay = min(had, has)
    if old.template == new.template:
        kept = [Row(_of(new, n), ("old", "old", "old")) for n in range(stay)]
        return _track(title, [*kept, *added, *dropped], spare)
    missing, surge = at_a_time(new, release)
    partition = release.rollout.partition if new.kind == "LeaderWorkerSet" else 0
    order = list(range(partition, stay))
    if new.kind != "PodCliqueSet":
        order.reverse()
    first, batch = max(1, missing) if not surge else missing, max(1, missing + surge)
    turns = [order[:first] if first else [], *_batches(order[first:], batch)]
    rows = [Row(_of(new, n), tuple(_states(n, turns))) for n in [*order, *range(min(partition, stay))]]
    length = len(turns) + 2
    extra = [
        Row(f"{_of(new, has + n)} (surge)", ("none", "load", *("new",) * (length - 3), "none")) for n in range(surge)
    ]
    return _track(title, [*rows, *extra, *added, *dropped], spare + surge * release.group.gpus)


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _states(group: int, turns: list[list[int]]) -> Iterator[str]:
    """Give a group's states: it loads in its own turn."""
    turn = next((index for index, groups in enumerate(turns) if group in groups), len(turns) + 1)
    yield "old"
    for index in range(len(turns)):
        yield "old" if index < turn else "load" if index == turn else "new"
    yield "new" if turn < len(turns) else "old"


def _track(title: str, rows: list[Row], spare: int) -> Track:
    length = max((len(row.states) for row in rows), default=1)
    whole = [Row(row.name, (*row.states, *(row.states[-1],) * (length - len(row.states)))) for row in rows]
    serving = min((sum(state in ("old", "new") for state in states) for states in _columns(whole)), default=0)
    shown = whole[:MOST]
    end = max(
        (index for row in shown for index in range(1, length) if row.states[index] != row.states[index - 1]), default=0
    )
    cut = min(length, end + 1)
    return Track(
        title, tuple(Row(row.name, row.states[:cut]) for row in shown), len(whole) - len(shown), serving, spare
    )


def _columns(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    return zip(*(row.states for row in rows), strict=True)


def _count(groups: Groups, release: Release) -> int:
    return release.rollout.replicas if groups.count is None else groups.count


def _of(groups: Groups, number: int) -> str:
    return groups.name if groups.kind == "StatefulSet" else f"{groups.name}-{number}"
