"""The clusters that Argo CD knows, as their Secrets describe them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockstep.gitops.selectors import Texts
from lockstep.release import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lockstep.yamlfile import Value, Values

    Labels = Mapping[str, str]

_TYPE: Final = "argocd.argoproj.io/secret-type"
LOCAL: Final = "https://kubernetes.default.svc"


@dataclass(frozen=True)
class Cluster:
    """One cluster: its name, address and project, and the labels and annotations of its Secret."""

    name: str
    server: str
    project: str
    labels: Labels
    annotations: Labels

    def parameters(self) -> Values:
        """Give what the clusters generator makes of it."""
        metadata: Values = {}
        if self.annotations:
            metadata["annotations"] = Texts(self.annotations)
        if self.labels:
            metadata["labels"] = Texts(self.labels)
        return {
            "name": self.name,
            "nameNormalized": normalized(self.name),
            "server": self.server,
            "project": self.project,
            "metadata": metadata,
        }


def normalized(name: str) -> str:
    """Make a name that Kubernetes takes, as Argo CD does."""
    kept = "".join(letter if letter in "abcdefghijklmnopqrstuvwxyz0123456789-." else "-" for letter in name.lower())
    return kept[:253].strip("-.")


def find(objects: list[Values]) -> Iterator[Cluster]:
    """Find the clusters among objects.

    Parameters
    ----------
    objects : list of Values
        A cluster is a Secret, or an ExternalSecret or SealedSecret that becomes one. What is encrypted or fetched
        cannot be read here: then ``name`` and ``server`` may stand as annotations ``lockstep/name`` and
        ``lockstep/server``, or the object's own name is taken.

    Yields
    ------
    Cluster
        Each cluster.
    """
    for item in objects:
        metadata, data = _secret(item)
        labels = _texts(table(metadata, "labels"))
        if labels.get(_TYPE) != "cluster":
            continue
        annotations = _texts(table(metadata, "annotations"))
        named = str(table(item, "metadata").get("name") or "")
        yield Cluster(
            data.get("name") or annotations.get("lockstep/name") or named,
            data.get("server") or annotations.get("lockstep/server") or f"https://{named}",
            data.get("project", ""),
            labels,
            annotations,
        )


def _secret(item: Values) -> tuple[Mapping[str, Value], dict[str, str]]:
    """Give the metadata and the readable data of the Secret that an object is or becomes."""
    spec = table(item, "spec")
    if item.get("kind") == "Secret":
        return table(item, "metadata"), _decoded(table(item, "data")) | _texts(table(item, "stringData"))
    if item.get("kind") == "ExternalSecret":
        template = table(table(spec, "target"), "template")
        plain = {key: text for key, text in _texts(table(template, "data")).items() if "{{" not in text}
        return table(template, "metadata"), plain
    if item.get("kind") == "SealedSecret":
        template = table(spec, "template")
        return table(template, "metadata"), _texts(table(template, "data"))
    return {}, {}


def _texts(values: Mapping[str, Value]) -> dict[str, str]:
    return {key: value for key, value in values.items() if isinstance(value, str)}


def _decoded(data: Mapping[str, Value]) -> dict[str, str]:
    decoded = {key: _plain(str(value)) for key, value in data.items()}
    return {key: value for key, value in decoded.items() if value is not None}


def _plain(value: str) -> str | None:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
