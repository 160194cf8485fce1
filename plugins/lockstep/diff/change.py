"""Say what the way from one rendered release to another does to its groups."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from lockstep.diff.frozen import refused
from lockstep.diff.groups import KINDS, find
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockstep.diff.groups import Groups
    from lockstep.release import Release
    from lockstep.yamlfile import Values

_IN_TURN: Final = {
    "LeaderWorkerSet": "from the highest number down, the next when the last is Ready",
    "PodCliqueSet": "from the lowest number up, the next when the last is Ready",
    "Deployment": "in no order, the next when the last is Ready",
}
_UNDO: Final = (
    "To undo it before it has ended, do not go back: Grove would leave the half-replaced group as it is "
    "(seen with v0.1.0-alpha.11). Go on to something new, for example with one more annotation in pod.annotations."
)


def describe(before: Sequence[Values], after: Sequence[Values], release: Release) -> Iterator[str]:
    """Describe a change.

    Parameters
    ----------
    before, after : sequence of Values
        The rendered objects.
    release : Release
        The release as it will be.

    Yields
    ------
    str
        One sentence or two for each thing that happens.
    """
    old, new = find(before), find(after)
    came = [groups for key, groups in new.items() if key not in old]
    went = [groups for key, groups in old.items() if key not in new]
    if came and went:
        yield from _exchanged(went, came)
    elif came or went:
        verb = "made" if came else "removed"
        yield f"{_names(came or went)}: {verb}. Other groups go on."
    kept = [key for key in new if key in old]
    for key in kept:
        yield from _kept(old[key], new[key], release)
    if not (came and went) and all(old[key].template == new[key].template for key in kept):
        yield "No group restarts."
    yield from rest(before, after)


def _exchanged(went: list[Groups], came: list[Groups]) -> Iterator[str]:
    spare = "" if len(came) > len(went) else "No spare GPUs are needed; "
    serves = f"{spare}nothing serves for a model load."
    yield (
        f"{_names(went)}: removed, and {_names(came)} made. What changes is frozen in an object that exists, so all "
        f"groups stop together, and the new ones start as soon as GPUs are free. {serves[0].upper()}{serves[1:]}"
    )


def _kept(old: Groups, new: Groups, release: Release) -> Iterator[str]:
    name = f"{new.kind} {new.name}"
    if old.count != new.count and old.count is not None and new.count is not None:
        more = new.count - old.count
        gpus = abs(more) * release.group.gpus
        what = f"{more} added, which takes {gpus} GPUs" if more > 0 else f"{-more} removed, which frees {gpus} GPUs"
        were = "1 group becomes" if old.count == 1 else f"{old.count} groups become"
        yield f"{name}: {were} {new.count}: {what}. Other groups go on."
    if old.template != new.template:
        count = new.count or release.rollout.replicas
        missing, surge = at_a_time(new, release)
        spare = surge * release.group.gpus
        kept = release.rollout.partition if new.kind == "LeaderWorkerSet" else 0
        which = f"every group from {kept} on" if kept else "every group"
        yield (
            f"{name}: {which} restarts once, {_IN_TURN.get(new.kind, 'all together')}; at most {missing} missing "
            f"at a time, {spare} spare GPUs needed."
        )
        if missing >= count and not kept:
            yield "Nothing serves for a model load."
        if new.kind == "PodCliqueSet":
            yield _UNDO


def at_a_time(groups: Groups, release: Release) -> tuple[int, int]:
    """Give how many groups an upgrade may have missing, and how many extra.

    Parameters
    ----------
    groups : Groups
        The groups of one object, as they will be.
    release : Release
        Their release.

    Returns
    -------
    tuple of int
        Missing and extra groups.
    """
    count = groups.count or release.rollout.replicas
    surge = min(_groups(groups.surge, count, up=True), count)
    return max(1 if not surge else 0, _groups(groups.unavailable, count, up=False)), surge


def _groups(written: str, count: int, *, up: bool) -> int:
    if not written.endswith("%"):
        return int(written)
    share = int(written[:-1]) * count / 100
    return math.ceil(share) if up else math.floor(share)


def rest(before: Sequence[Values], after: Sequence[Values]) -> Iterator[str]:
    """Name the other objects that come, go or change; none of them restarts a group.

    Parameters
    ----------
    before, after : sequence of Values
        The rendered objects.

    Yields
    ------
    str
        One sentence for those that are made, removed and changed, and one for each that its cluster will refuse.
    """
    old, new = ({_key(item): item for item in objects if item.get("kind") not in KINDS} for objects in (before, after))
    changed = {key for key in old.keys() & new.keys() if old[key] != new[key]}
    frozen = {key: lines for key in sorted(changed) if (lines := list(refused(key[0], old[key], new[key])))}
    for word, keys in (
        ("made", new.keys() - old.keys()),
        ("removed", old.keys() - new.keys()),
        ("changed in place", changed - frozen.keys()),
    ):
        if names := sorted(name for name, _ in keys):
            yield f"{', '.join(names)}: {word}."
    for lines in frozen.values():
        yield from lines


def _key(item: Values) -> tuple[str, str]:
    """Give what an object is called, and its group: Kueue and KAI both have a Topology."""
    return f"{item['kind']} {table(item, 'metadata').get('name', '')}", str(item.get("apiVersion")).rpartition("/")[0]


def _names(groups: list[Groups]) -> str:
    return ", ".join(f"{each.kind} {each.name}" for each in groups)
