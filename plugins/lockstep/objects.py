"""Hold rendered objects against the schemas of their kinds, without a cluster. Needs ``kubernetes-validate``."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

import kubernetes_validate  # type: ignore[import-untyped]
from jsonschema.validators import validator_for

from lockstep import share
from lockstep.errors import UsageError
from lockstep.paths import dotted
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

    from lockstep.yamlfile import Values

# Kinds beyond core that the chart renders, with the file that was made of their definition. The pods in that of
# LeaderWorkerSet are left to the schemas of core.
_OWN: Final = {
    "LeaderWorkerSet": "leaderworkerset.json",
    "PodCliqueSet": "podcliqueset.json",
    "ScaledObject": "scaledobject.json",
}


def faults(objects: Iterable[Values], version: str | None = None) -> Iterator[str]:
    """Say what does not fit.

    Parameters
    ----------
    objects : iterable of Values
        Kubernetes objects.
    version : str, optional
        Version of Kubernetes, like ``1.34``; the newest that the package has if absent.

    Yields
    ------
    str
        One line for each object with a fault. An object of a kind that neither Kubernetes nor a stack has is passed
        over: only its cluster knows it.

    Raises
    ------
    UsageError
        If there are no schemas of that version.
    """
    wanted = version or kubernetes_validate.latest_version()
    for given in objects:
        name = f"{given.get('kind')} {table(given, 'metadata').get('name')}"
        for where, message in _faults(given, wanted):
            yield f"{name}: {dotted(where) or 'the object'}: {message}"


def _faults(given: Values, version: str) -> Iterator[tuple[list[str | int], str]]:
    """Yield the place of each fault and what it is."""
    file = _OWN.get(str(given.get("kind")))
    if file is None:
        yield from ((list(wrong.absolute_path), wrong.message) for wrong in _core(given, version))
        return
    schema = _schema(file)
    for wrong in validator_for(schema)(schema).iter_errors(given):
        yield list(wrong.absolute_path), wrong.message
    group = table(table(given, "spec"), "leaderWorkerTemplate")
    for role in ("leaderTemplate", "workerTemplate"):
        if role in group:
            pod: Values = {"apiVersion": "v1", "kind": "PodTemplate", "template": group[role]}
            for wrong in _core(pod, version):
                yield ["spec", "leaderWorkerTemplate", role, *list(wrong.absolute_path)[1:]], wrong.message


def _core(given: Values, version: str) -> Iterator[ValidationError]:
    try:
        kubernetes_validate.validate(given, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield error
    except kubernetes_validate.SchemaNotFoundError:
        return
    except (kubernetes_validate.utils.VersionNotSupportedError, IndexError):  # the latter for `1` and `1.2`
        known = ", ".join(kubernetes_validate.utils.all_versions())
        raise UsageError(f"there are no schemas of Kubernetes {version}; kubernetes-validate has {known}") from None


@cache
def _schema(file: str) -> Values:
    schema: Values = json.loads((share.folder("schemas") / file).read_text(encoding="utf-8"))
    return schema
