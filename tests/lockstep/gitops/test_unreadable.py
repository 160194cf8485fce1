"""Proves that a file of a fleet that cannot be read is one message with its name and line, in a check and in a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep.cli import main
from tests.lockstep.gitops.trees import plant

if TYPE_CHECKING:
    from pathlib import Path

KUEUE = "argocd/addons/kueue/values.yaml"
BROKEN = {
    "bytes": ("argocd/queues/local/values.yaml", b"a: 1\nb: \xff\n", "line 2: the file is not UTF-8 text"),
    "bytes of a template": ("argocd/appsets/serving.yaml", b"{{ \xff }}", "line 1: the file is not UTF-8 text"),
    "no YAML": ("argocd/clusters/local.yaml", b"a: 1\nb: [\n", "line 3: not valid YAML: "),
    "a tag": ("argocd/clusters/local.yaml", b"a: 1\nb: !!python/none x\n", "line 2: not valid YAML: "),
    "a template where values belong": (KUEUE, b"a: [ {{ x }}\n", "line 2: not valid YAML: "),
    "a list where values belong": (KUEUE, b"- a\n", "line 1: the file holds a list"),
    "no YAML in a value": (
        KUEUE,
        b"managerConfig: {controllerManagerConfigYaml: 'a: ['}\n",
        "managerConfig.controllerManagerConfigYaml: line 2: not valid YAML: ",
    ),
}


@pytest.mark.parametrize(("path", "content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, content: bytes, message: str
) -> None:
    """Exit code 1, the file and the line."""
    folder = plant(tmp_path, {})
    (tmp_path / path).write_bytes(content)
    code = main(["check", str(folder)])
    said = capsys.readouterr().err

    assert (1, 1) == (code, len(said.splitlines()))
    assert said.startswith(f"lockstep: {tmp_path / path}: {message}")
