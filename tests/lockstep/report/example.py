"""One values file with an error and warnings, and texts that each form has to escape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from pathlib import Path

WRONG: Final = """\
# a comment, so that lines are not what they seem
model: {id: deepseek-ai/DeepSeek-R1}
engine:
  name: vllm
  args:
    tensor-parallel-size: 8
stack: {name: lws}
group: {nodes: 2, gpusPerNode: 8}
"""
HOSTILE: Final = Finding("PAR001", "a,b:c", "50% of\r\nthe <GPUs> & \x1b[31m", "Say \x07 \ufffe \U0001f600.")


def write_wrong(folder: Path) -> Path:
    """Write the file."""
    file = folder / "wrong.yaml"
    file.write_text(WRONG, encoding="utf-8")
    return file
