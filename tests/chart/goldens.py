"""Write what the examples render, so that a change of the chart shows as a difference in review.

python -m tests.chart.goldens
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from .rendering import ROOT, render

FOLDER: Final = Path(__file__).parent / "golden"
EXAMPLES: Final = sorted((ROOT / "values" / "examples").glob("*.yaml"))


def golden(example: Path) -> str:
    """Render an example as it lies in Git, with what the launch scripts change masked: they have their own tests."""
    rendered = render(example, name=example.stem)
    for template in rendered.templates().values():
        template["metadata"]["annotations"]["lockstep/launch-checksum"] = "<sha256 of the launch scripts>"
        for volume in template["spec"]["volumes"]:
            if volume["name"] == "launch":
                volume["configMap"]["items"] = "<one for each launch script>"
    rendered["ConfigMap"]["data"] = "<the launch scripts>"
    rendered["Pod"]["spec"]["containers"][0]["args"] = "<files/test/ask.py>"
    header = f"# values/examples/{example.name} rendered; written by python -m tests.chart.goldens\n"
    documents = sorted(rendered.objects, key=lambda item: (item["kind"], item["metadata"]["name"]))
    text = re.sub(r"helm.sh/chart: .*", "helm.sh/chart: <version>", yaml.safe_dump_all(documents, width=120))
    # A set's name carries a hash of its pods, scripts included.
    return header + re.sub(r"-(\d+)-[0-9a-f]{6}\b", r"-\1-<revision>", text)


def main() -> None:
    """Write them all anew."""
    FOLDER.mkdir(exist_ok=True)
    for stale in FOLDER.glob("*.yaml"):
        stale.unlink()
    for example in EXAMPLES:
        (FOLDER / example.name).write_text(golden(example), encoding="utf-8")


if __name__ == "__main__":
    main()
