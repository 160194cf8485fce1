"""Explain finding codes from the registry."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from lockstep.codes import Layer, registry

if TYPE_CHECKING:
    from lockstep.codes import Code

_LAYERS: Final = {
    Layer.SCHEMA: "refused by the chart's schema: in Helm, in Argo CD and in `lockstep check`",
    Layer.CHART: "decided by the chart: in Helm, in Argo CD and in `lockstep check`",
    Layer.CHECK: "seen by `lockstep check` only",
}


def listing() -> str:
    """List all codes, one a line.

    Returns
    -------
    str
        Code, severity and title.
    """
    return "\n".join(f"{row.code}  {row.severity.value:<7}  {row.title}" for row in registry().values())


def page(row: Code) -> str:
    """Explain one code.

    Parameters
    ----------
    row : Code
        The code.

    Returns
    -------
    str
        Some twenty lines of text: the reason, an example that has the fault and a neighbour without it.
    """
    why = "\n\n".join(textwrap.fill(paragraph, 100) for paragraph in row.why.split("\n\n"))
    return "\n\n".join(
        (
            f"{row.code} ({row.severity.value}): {row.title}\n{_LAYERS[row.layer]}",
            why,
            "Has the fault:\n\n" + textwrap.indent(row.fails.rstrip(), "    "),
            "Has it not:\n\n" + textwrap.indent(row.passes.rstrip(), "    "),
        )
    )
