"""Build the components with Go into a cache outside the checkout, within a time budget.

A component's folder in the cache is named by a hash of all that goes into it and appears only when it is complete.
What Go has compiled before the budget ends stays in Go's own cache, so the next run goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ci.sim.chart import render
from ci.sim.component import fill, load
from ci.sim.folders import CACHE, program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ci.sim.component import Component


FLAGS = "-s -w"  # no symbols, no debug information


class OutOfTimeError(Exception):
    """The budget ended before the build did."""


class BuildError(Exception):
    """Go refused; the message says where its output is."""


def built(component: Component) -> Path | None:
    """Folder with the component's binaries, or None when it has not been built from these inputs."""
    folder = CACHE / f"{component.name}-{inputs(component)}"
    return folder if folder.is_dir() else None


def inputs(component: Component) -> str:
    """Hash of what decides the binaries and the rendered chart, except Go's version: any that builds will do."""
    recipe = (component.binaries, component.module, component.stamp, component.patch, component.chart, FLAGS)
    more = [component.manifests] if component.manifests else []
    digest = hashlib.sha256(repr([*recipe, *more, platform.machine(), sys.platform]).encode())
    pins = [component, load("kubernetes")] if component.chart else [component]
    for pin in pins:
        digest.update((pin.tools / "go.mod").read_bytes())
    digest.update((component.tools / "go.sum").read_bytes())
    for source in sorted(component.tools.rglob("*.go")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def build(component: Component, deadline: float | None, jobs: int) -> Path:
    """Build a component unless it is there already.

    Parameters
    ----------
    component
        What to build.
    deadline
        Moment of ``time.monotonic()`` at which to stop, in seconds; None for no limit.
    jobs
        Packages that Go compiles at the same time.

    Raises
    ------
    OutOfTimeError
        The deadline came first.
    BuildError
        The build failed.
    """
    if folder := built(component):
        return folder
    print(f"sim: building {component.name} {component.version()}", file=sys.stderr, flush=True)
    started = time.monotonic()
    CACHE.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{component.name}-", dir=CACHE))
    try:
        for binary, package in component.binaries.items():
            compile_one(component, binary, package, part, deadline, jobs)
        if component.namespace:
            objects = render(component)
            (part / "chart.json").write_text(json.dumps(objects))
        folder = CACHE / f"{component.name}-{inputs(component)}"
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    print(f"sim: built {component.name} {component.version()} in {time.monotonic() - started:.0f} s", flush=True)
    return folder


def compile_one(
    component: Component, binary: str, package: str, target: Path, deadline: float | None, jobs: int
) -> None:
    """Run ``go build`` for one binary, show its progress, and stop it at the deadline."""
    log = CACHE / f"build-{binary}.log"
    go = [str(program("go")), "build", "-v", "-trimpath", f"-p={jobs}", f"-ldflags={linker_flags(component)}"]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    total = len(go_packages(component, package, environment, deadline))
    source = patched(component, target) or package
    command = ["nice", "-n", "19", *go, "-o", str(target / binary), str(source)]
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=component.tools,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process,
        bounded(process, deadline),
        Progress(binary, total) as progress,
    ):
        for line in process.stdout or ():
            output.write(line)
            progress.step()
    if process.returncode and deadline is not None and time.monotonic() >= deadline:
        raise OutOfTimeError(binary)
    if process.returncode:
        tail = "".join(log.read_text().splitlines(keepends=True)[-10:])
        raise BuildError(f"go build of {binary} failed; the end of {log}:\n{tail}")


def go_packages(component: Component, package: str, environment: dict[str, str], deadline: float | None) -> list[str]:
    """List the import paths of all packages of a binary; this also downloads what is missing."""
    listing = [str(program("go")), "list", "-deps", package]
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        done = subprocess.run(
            listing,
            cwd=component.tools,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=left,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTimeError(f"the modules of {component.name}") from None
    if done.returncode:
        raise BuildError(f"go could not list the packages of {package}; its message is above")
    return str(done.stdout).split()


def linker_flags(component: Component) -> str:
    """Compose what the linker is told, with the version where the source leaves it to the linker."""
    version = component.version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    names = {"version": version, "number": version.removeprefix("v"), "major": major, "minor": minor}
    return " ".join([FLAGS, *(f"-X {variable}={fill(text, names)}" for variable, text in component.stamp.items())])


def patched(component: Component, folder: Path) -> Path | None:
    """Write the component's main program with its patch into ``folder``; None without a patch.

    It is compiled as a file of its own: Go replaces nothing inside its module cache, not even by an overlay.
    """
    if not component.patch:
        return None
    original = component.module_folder() / component.patch.file
    text = original.read_text()
    if text.count(component.patch.old) != 1:
        raise BuildError(
            f"{original} does not hold {component.patch.old} exactly once: look at {component.description}"
        )
    copy = folder / original.name
    copy.write_text(text.replace(component.patch.old, component.patch.new))
    return copy


@contextmanager
def bounded(process: subprocess.Popen[str], deadline: float | None) -> Iterator[None]:
    """End a build with all its compilers at the deadline, or when something else goes wrong here."""

    def end() -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    left = threading.TIMEOUT_MAX if deadline is None else max(0.0, deadline - time.monotonic())
    timer = threading.Timer(left, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        end()
        raise
    finally:
        timer.cancel()


class Progress:
    """Packages compiled so far: a bar in a terminal, a line each half minute in a log."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self.started = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self) -> None:
        """Count one more package."""
        self.done += 1
        now = time.monotonic()
        if now - self.shown >= (0.2 if self.terminal else 30):
            self.shown = now
            self.show("\r" if self.terminal else "")

    def show(self, before: str) -> None:
        """Print the state. Packages that Go has in its cache are never counted, hence 'of at most'."""
        bar = "#" * (24 * self.done // self.total) if self.terminal else ""
        seconds = time.monotonic() - self.started
        text = f"sim: {self.name:<24} {bar:<24} {self.done} packages of at most {self.total}, {seconds:.0f} s"
        print(f"{before}{text}", end="" if before else "\n", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal and self.done:
            self.show("\r")
            print(file=sys.stderr)
