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

    from lockstep.yamlfile import Value, Values

# Kinds of the stacks, with the file that was made of their definition; pods in them are left to the schemas of core.
_OWN: Final = {"LeaderWorkerSet": "leaderworkerset.json", "PodCliqueSet": "podcliqueset.json"}


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
        for part, wrong in _faults(given, wanted):
            where = ".".join(filter(None, (part, dotted(wrong.absolute_path))))
            yield f"{name}: {where or 'the object'}: {wrong.message}"


def _faults(given: Values, version: str) -> Iterator[tuple[str, ValidationError]]:
    file = _OWN.get(str(given.get("kind")))
    if file is None:
        yield from (("", wrong) for wrong in _core(given, version))
        return
    schema = _schema(file)
    yield from (("", wrong) for wrong in validator_for(schema)(schema).iter_errors(given))
    for path, template in _templates(given):
        pod: Values = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": template}
        yield from ((path, wrong) for wrong in _core(pod, version))


def _core(given: Values, version: str) -> Iterator[ValidationError]:
    try:
        kubernetes_validate.validate(given, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield error
    except kubernetes_validate.SchemaNotFoundError:
        return
    except kubernetes_validate.utils.VersionNotSupportedError:
        known = ", ".join(kubernetes_validate.utils.all_versions())
        raise UsageError(f"there are no schemas of Kubernetes {version}; kubernetes-validate has {known}") from None


@cache
def _schema(file: str) -> Values:
    schema: Values = json.loads((share.folder("schemas") / file).read_text(encoding="utf-8"))
    return schema


def _templates(given: Values) -> Iterator[tuple[str, Value]]:
    """Yield the pod templates of a stack's object, with their path."""
    spec = table(given, "spec")
    group = table(spec, "leaderWorkerTemplate")
    for role in ("leaderTemplate", "workerTemplate"):
        if role in group:
            yield f"spec.leaderWorkerTemplate.{role}", group[role]
    cliques = table(spec, "template").get("cliques")
    for index, clique in enumerate(cliques if isinstance(cliques, list) else ()):
        if isinstance(clique, dict):
            yield f"spec.template.cliques[{index}]", {"spec": table(clique, "spec").get("podSpec")}
