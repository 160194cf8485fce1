"""What ConfigMaps and Secrets hold. Secrets of the cluster are not here: their values are made up."""

from __future__ import annotations

import base64
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from lockstep.rehearse.manifest import Group


def configured(group: Group, kind: str, name: str) -> dict[str, str]:
    """Return the data of a rendered ConfigMap or Secret; nothing when it was not rendered.

    Parameters
    ----------
    group : Group
        With the rendered objects.
    kind : str
        ``ConfigMap`` or ``Secret``.
    name : str
        Its name.
    """
    found = group.find(kind, name)
    if found is None:
        return {}
    if kind == "ConfigMap":
        return tree.strings(found, "data")
    coded = {key: base64.b64decode(value).decode() for key, value in tree.strings(found, "data").items()}
    return coded | tree.strings(found, "stringData")


def secret_value(group: Group, kind: str, name: str, key: str, *, optional: bool) -> str | None:
    """Return one value; a Secret that was not rendered gives a made-up one, the same on every rank.

    Raises
    ------
    LockstepError
        For a key that is missing in a rendered object: the pod would not start.
    """
    data = configured(group, kind, name)
    if key in data:
        return data[key]
    if group.find(kind, name) is not None and not optional:
        raise LockstepError(f"{kind} {name} has no key {key}: the pod would stay in CreateContainerConfigError")
    if optional:
        return None
    if kind == "ConfigMap":
        raise LockstepError(f"ConfigMap {name} was not rendered: the pod would stay in CreateContainerConfigError")
    return made_up(name, key)


@functools.cache
def made_up(name: str, key: str) -> str:
    """Return a value for a Secret that only the cluster has; it stays the same for all pods of a rehearsal.

    Raises
    ------
    LockstepError
        For an ssh key where OpenSSH is missing.
    """
    if key != "ssh-privatekey":
        return f"rehearsal-{name}-{key}"
    if shutil.which("ssh-keygen") is None:
        raise LockstepError(f"Secret {name} is to hold an ssh key, and ssh-keygen is not on this machine")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
        return file.read_text()
