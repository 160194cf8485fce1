"""The registry of finding codes: what each means, how grave it is and which layer decides it.

The data is ``codes.yaml``; a test runs every example in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.errors import UsageError
from lockstep.plugins import CODES, tables
from lockstep.yamlfile import read

if TYPE_CHECKING:
    from lockstep.yamlfile import Values

_FILE: Final = Path(__file__).with_name("codes.yaml")


class Severity(str, Enum):
    """How grave a finding is: an error cannot work, a warning can."""

    ERROR = "error"
    WARNING = "warning"


class Layer(str, Enum):
    """Who refuses the values: the schema, the chart's templates, these checks alone; or what is said of a plug-in."""

    SCHEMA = "schema"
    CHART = "chart"
    CHECK = "check"
    MANIFESTS = "manifests"
    LIVE = "live"
    PLUGIN = "plugin"
    FLEET = "fleet"


@dataclass(frozen=True)
class Code:
    """One row of the registry.

    Parameters
    ----------
    code : str
        Topic and number, for instance ``PAR001``.
    title : str
        The fault in one line.
    severity : Severity
        How grave it is.
    layer : Layer
        Who refuses it.
    why : str
        What would happen otherwise, and how that is known.
    fails : str
        The text of a values file that has the fault.
    passes : str
        A near neighbour without it.
    """

    code: str
    title: str
    severity: Severity
    layer: Layer
    why: str
    fails: str
    passes: str


@cache
def registry() -> dict[str, Code]:
    """Read the registry.

    Returns
    -------
    dict of str to Code
        All codes of Lockstep itself in the order of the file.
    """
    return _rows(read(_FILE))


@cache
def known() -> dict[str, Code]:
    """Read the codes of plug-ins, too.

    Returns
    -------
    dict of str to Code
        The registry, then those of plug-ins; no plug-in changes a code of Lockstep itself.
    """
    added: dict[str, Code] = {}
    for content in tables(CODES):
        added.update(_rows(content))
    return registry() | {code: row for code, row in added.items() if code not in registry()}


def _rows(content: Values) -> dict[str, Code]:
    return {
        code: Code(
            code,
            str(row["title"]),
            Severity(row["severity"]),
            Layer(row.get("layer", Layer.CHECK)),
            str(row["why"]).strip(),
            str(row["fails"]),
            str(row["passes"]),
        )
        for code, row in content.items()
        if isinstance(row, dict)
    }


def find(code: str) -> Code:
    """Look a code up.

    Parameters
    ----------
    code : str
        In any case of letters.

    Returns
    -------
    Code
        Its row.

    Raises
    ------
    UsageError
        If there is no such code.
    """
    rows = known()
    try:
        return rows[code.upper()]
    except KeyError:
        raise UsageError(f"there is no finding {code}; `lockstep explain` lists all {len(rows)}") from None
