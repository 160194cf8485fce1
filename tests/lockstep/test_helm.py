"""How Helm is run: it collects its garbage seldom, unless the user says how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep import helm

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("given", "used"), [(None, "400"), ("50", "50")], ids=["nothing said", "said"])
def test_helm_collects_garbage_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, used: str
) -> None:
    """Its process ends before the memory is needed; who sets GOGC has a reason."""
    program = tmp_path / "helm"
    program.write_text('#!/bin/sh\necho "$GOGC $1"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("HELM_BIN", str(program))
    monkeypatch.delenv("GOGC", raising=False)
    if given:
        monkeypatch.setenv("GOGC", given)

    assert f"{used} template\n" == helm.run(["template"])
