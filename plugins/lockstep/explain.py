"""Explain finding codes from the registry: in a terminal, and as the page ``docs/codes.md``.

``python -m lockstep.explain docs/codes.md`` writes the page, with ``--check`` it fails when the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep.codes import Layer, known, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.codes import Code

_LAYERS: Final = {
    Layer.SCHEMA: "refused by the chart's schema: in Helm, in Argo CD and in `lockstep check`",
    Layer.CHART: "decided by the chart: in Helm, in Argo CD and in `lockstep check`",
    Layer.CHECK: "seen by `lockstep check` only",
    Layer.MANIFESTS: "seen by `lockstep check --manifests`",
    Layer.LIVE: "seen by `lockstep check --live`",
    Layer.FLEET: "seen by `lockstep check FOLDER` of Argo CD objects; the example says what else lies there",
    Layer.PLUGIN: "said of a plug-in by `lockstep check`",
}

_INTRODUCTION: Final = """\
# Findings

What `lockstep check` can say, with an example that has the fault and a near neighbour without it; the tests run both.
`lockstep explain CODE` prints one of them. This page is generated from `plugins/lockstep/codes.yaml` by
`python -m lockstep.explain docs/codes.md`.\
"""


def listing() -> str:
    """List all codes, one a line.

    Returns
    -------
    str
        Code, severity and title.
    """
    return "\n".join(f"{row.code}  {row.severity.value:<7}  {row.title}" for row in known().values())


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


def markdown(row: Code) -> str:
    """Explain one code in Markdown, without a heading.

    Parameters
    ----------
    row : Code
        The code.

    Returns
    -------
    str
        What :func:`page` says below its first line.
    """
    language = "python" if row.layer is Layer.PLUGIN else "yaml"
    return "\n\n".join(
        (
            row.why,
            "Has the fault:",
            f"```{language}\n{row.fails.rstrip()}\n```",
            "Has it not:",
            f"```{language}\n{row.passes.rstrip()}\n```",
        )
    )


def document() -> str:
    """Write the page of all codes.

    Returns
    -------
    str
        Markdown.
    """
    rows = registry().values()
    table = [f"| [{row.code}](#{row.code.lower()}) | {row.severity.value} | {row.title} |" for row in rows]
    parts = [
        f"## {row.code}\n\n**{row.title}** ({row.severity.value}; {_LAYERS[row.layer]})\n\n{markdown(row)}"
        for row in rows
    ]
    return (
        "\n\n".join((_INTRODUCTION, "\n".join(("| code | severity | fault |", "| --- | --- | --- |", *table)), *parts))
        + "\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page of all codes.

    Parameters
    ----------
    arguments : sequence of str, optional
        ``[--check] FILE``; the command line if absent.

    Returns
    -------
    int
        0 if the file is up to date now, 1 if ``--check`` found it out of date.
    """
    parser = argparse.ArgumentParser(prog="python -m lockstep.explain", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    options = parser.parse_args(arguments)
    target: Path = options.file
    if not options.check:
        target.write_text(document(), encoding="utf-8")
    elif not target.is_file() or target.read_text(encoding="utf-8") != document():
        sys.stderr.write(f"{target} is not what codes.yaml says; run `python -m lockstep.explain {target}`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
