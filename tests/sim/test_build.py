"""Building stops at its budget, leaves nothing half done, and knows when its inputs have changed.

Go is a script here: it lists two packages, and ``go build`` is slow or fails as the test says.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import pytest
from ci.sim import build as builder
from ci.sim.component import Component, Patch, Process, load

if TYPE_CHECKING:
    from pathlib import Path

GO = """#!/usr/bin/env bash
case $1 in
  list) {listing} ;;
  build)
    printf 'a\\n'
    {step}
    while [[ $1 != -o ]]; do shift; done
    printf 'program' > "$2"
    ;;
esac
"""


@pytest.fixture
def component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Component:
    """Give a component with one binary, whose tools module and cache lie in a folder of the test."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go.mod").write_text("module x\n\nrequire example.invalid/thing v1.2.3\n")
    (tools / "go.sum").write_text("")
    monkeypatch.setattr(Component, "tools", tools)
    monkeypatch.setattr(builder, "CACHE", tmp_path / "cache")
    return Component("thing", {"thing": "example.invalid/thing/cmd"}, (), "example.invalid/thing")


def go(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str = ":", listing: str = r"printf 'a\nb\n'") -> None:
    """Put a Go on PATH that does ``step`` while it builds and ``listing`` while it lists and downloads."""
    script = folder / "bin" / "go"
    script.parent.mkdir()
    script.write_text(GO.replace("{step}", step).replace("{listing}", listing))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")


def test_a_build_appears_whole_and_is_found_again(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time nothing is compiled: Go may even be gone."""
    go(tmp_path, monkeypatch)

    folder = builder.build(component, None, 1)
    (tmp_path / "bin" / "go").unlink()

    assert "program" == (folder / "thing").read_text()
    assert folder == builder.build(component, None, 1)


def test_a_patch_that_does_not_fit_stops_the_build(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an update of the module somebody has to look whether it is still needed."""
    go(tmp_path, monkeypatch)
    (tmp_path / "main.go").write_text("package main // other\n")
    monkeypatch.setattr(Component, "module_folder", lambda _: tmp_path)
    spoiled = dataclasses.replace(component, patch=Patch("main.go", old="certDir", new="here"))

    with pytest.raises(builder.BuildError, match="does not hold certDir exactly once"):
        builder.build(spoiled, None, 1)


def test_a_build_stops_at_its_deadline_and_leaves_nothing_half_done(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go and the compilers under it are ended; the next run goes on from Go's own cache."""
    mark = tmp_path / "still-running"
    go(tmp_path, monkeypatch, step=f"bash -c 'sleep 3; touch {mark}'")
    began = time.monotonic()

    with pytest.raises(builder.OutOfTimeError):
        builder.build(component, began + 0.5, 1)

    assert time.monotonic() - began < 2.5
    assert builder.built(component) is None
    assert ["build-thing.log"] == [file.name for file in (tmp_path / "cache").iterdir()]
    time.sleep(3)
    assert not mark.exists()


def test_a_download_stops_at_the_deadline_too(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module proxy that does not answer is no reason to hang."""
    go(tmp_path, monkeypatch, listing="exec sleep 60")

    with pytest.raises(builder.OutOfTimeError, match="the modules of thing"):
        builder.build(component, time.monotonic() + 0.3, 1)


def test_a_failed_build_shows_what_go_said(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of Go's output is in the message, and where the rest is."""
    go(tmp_path, monkeypatch, step="echo 'thing.go:7: undefined: x'; exit 1")

    with pytest.raises(builder.BuildError, match=r"(?s)build-thing\.log.*undefined: x"):
        builder.build(component, None, 1)

    assert builder.built(component) is None


@pytest.mark.parametrize("file", ["go.mod", "go.sum"])
def test_another_pin_is_another_build(component: Component, file: str) -> None:
    """What was built from other modules is not used."""
    before = builder.inputs(component)
    pin = component.tools / file
    pin.write_text(pin.read_text() + "// other\n")

    assert before != builder.inputs(component)


def test_another_source_of_our_own_is_another_build(component: Component) -> None:
    """Argo CD's store is a program in its tools module."""
    before = builder.inputs(component)
    (component.tools / "main.go").write_text("package main\n")

    assert before != builder.inputs(component)


def test_another_command_line_is_the_same_build() -> None:
    """How a process is started does not change its binary; an hour of compiling hangs on this."""
    component = load("lws")
    moved = dataclasses.replace(component, processes=(Process("lws", (), ("lws", "--other")),))

    assert builder.inputs(component) == builder.inputs(moved)
