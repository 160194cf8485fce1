"""Fixtures of the package's tests."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from lockstep import helm

from .plugin import forget, write_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# The same examples in every run, so that a red test means a change; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("search")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@dataclass(frozen=True)
class DebugChart:
    """A chart that prints its values as JSON: what Helm understood."""

    folder: Path

    def values_of(self, *texts: str, defaults: str = "{}") -> object:
        """Return the values after Helm has read the texts, the first lowest, over the chart's defaults."""
        done = self._run(texts, defaults)
        assert not done.returncode, done.stderr
        return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))

    def refuses(self, text: str) -> bool:
        """Say whether Helm refuses a text."""
        return self._run((text,), "{}").returncode != 0

    def _run(self, texts: tuple[str, ...], defaults: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "values.yaml").write_text(defaults, encoding="utf-8")
        files = [self.folder.parent / f"values-{index}.yaml" for index in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        flags = [word for file in files for word in ("-f", file)]
        return subprocess.run(
            [helm.find(), "template", "x", self.folder, *flags], capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="session")
def debug_chart(tmp_path_factory: pytest.TempPathFactory) -> DebugChart:
    """Make the chart once."""
    folder = tmp_path_factory.mktemp("debug") / "chart"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: debug\nversion: 0.1.0\n")
    (folder / "templates" / "values.yaml").write_text("{{ toJson .Values }}\n")
    return DebugChart(folder)


@pytest.fixture
def install_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a plug-in into a folder of its own, until the end of the test."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def install(source: str, **groups: str) -> None:
        write_plugin(folder, source, **groups)
        forget("acme")

    yield install
    monkeypatch.undo()
    forget("acme")
