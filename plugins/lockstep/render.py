"""Render a release with Helm, the way Argo CD does.

Argo CD's repository server runs ``helm template`` with ``--name-template``, ``--namespace``, ``--values`` and
``--include-crds``, has no cluster to look into, and renders the same files to the same objects each time. It leaves the
pod of ``helm test`` alone, so that is not rendered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from lockstep import helm
from lockstep.errors import RenderError, UsageError
from lockstep.inputs import NAME_RULE, is_release_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockstep.inputs import Input
    from lockstep.yamlfile import Values


def manifests(given: Input, settings: Sequence[str] = ()) -> str:
    """Render a release as text.

    Parameters
    ----------
    given : Input
        The release.
    settings : sequence of str, optional
        What Helm's ``--set`` takes, handed over as it is; above every file.

    Returns
    -------
    str
        The objects as YAML documents, exactly as Helm printed them.

    Raises
    ------
    UsageError
        If a file or Helm is missing, or Helm would not take the release's name.
    ValuesError
        If a file is not one YAML mapping (Helm itself would keep the last of two equal keys and say nothing).
    RenderError
        If the chart refuses the values.
    """
    if not is_release_name(given.name):
        raise UsageError(f"`{given.name}` cannot be a release name ({NAME_RULE}); rename the file or give --name")
    for file in given.files:
        if file.is_fifo():
            raise UsageError(f"{file}: a pipe, which can be read once, and Helm reads it too; write it to a file first")
    given.values()
    return helm.run(
        [
            "template",
            given.chart,
            "--name-template",
            given.name,
            "--namespace",
            given.namespace,
            *(f"--values={_csv(file)}" for file in given.files),
            *(f"--set={setting}" for setting in settings),
            "--include-crds",
            "--skip-tests",
        ]
    )


def _csv(file: Path) -> str:
    """Quote a path for a flag that Helm reads as a list with commas."""
    return '"{}"'.format(str(file).replace('"', '""'))


def objects(given: Input) -> list[Values]:
    """Render a release as objects.

    Parameters
    ----------
    given : Input
        The release.

    Returns
    -------
    list of Values
        The objects in Helm's order.

    Raises
    ------
    LockstepError
        As :func:`manifests`.
    """
    documents = list(yaml.load_all(manifests(given), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    for document in documents:
        if document is not None and not isinstance(document, dict):
            raise RenderError("the chart rendered something that is not an object")
    return [document for document in documents if document]
