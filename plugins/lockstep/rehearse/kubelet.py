"""Kubelet's part for one pod: starts its container, probes it, restarts it, stops it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.rehearse import processes, tree
from lockstep.rehearse.container import Container
from lockstep.rehearse.environment import command_line, container_environment
from lockstep.rehearse.expand import expand
from lockstep.rehearse.network import resolve
from lockstep.rehearse.probe import Probe, Result
from lockstep.rehearse.volumes import Volumes
from lockstep.rehearse.waiting import happens, within

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.network import Place
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.timeline import Timeline

# Seconds until kubelet sees that a container ended (it lists them every second).
NOTICE = 1.0
# Wait before the second, third ... restart; the first comes at once. Forgotten after ten good minutes.
BACKOFF_FIRST, BACKOFF_MOST, BACKOFF_FORGET = 10.0, 300.0, 600.0


@dataclass
class Status:
    """What ``kubectl get pod`` would show."""

    phase: str = "Pending"  # Pending, Running, BackOff, Terminating, Gone
    started: bool = False
    ready: bool = False
    restarts: int = 0


class Kubelet:
    """Runs one pod from its creation to its end.

    Parameters
    ----------
    pod, group, place
        What to run, with which objects around it, where.
    folder : Path
        Of this pod alone: volumes, logs. What all pods share lies beside it.
    base : dict of str
        The environment that an image would give: PATH and the like.
    names : dict of str
        Addresses by names that do not resolve here, and are replaced wherever they stand.
    timeline : Timeline
        Where everything is told.
    changed : callable
        Called whenever ``status`` may have changed.
    """

    def __init__(
        self,
        pod: Pod,
        group: Group,
        place: Place,
        folder: Path,
        base: dict[str, str],
        names: dict[str, str],
        timeline: Timeline,
        changed: Callable[[], None],
    ) -> None:
        self.pod, self.place, self.folder = pod, place, folder
        self.status = Status()
        self.verdicts: dict[str, Result] = {}
        self.container: Container | None = None
        self._timeline, self._changed = timeline, changed
        self.spec = pod.container()
        own, shared = folder / "volumes", folder.parent / "shared"
        self.volumes = Volumes(pod, group, own, shared, lambda text: self.tell("note", text))
        self.mounts = self.volumes.mounts(self.spec)
        environment = container_environment(pod, self.spec, group, place.address)
        argv = command_line(self.spec, environment)
        self.environment = base | {
            name: self.mounts.rewrite(resolve(value, names)) for name, value in environment.items()
        }
        if "/tmp" in self.mounts.places:  # noqa: S108 - the name of the mount
            self.environment.setdefault("TMPDIR", str(self.mounts.places["/tmp"]))  # noqa: S108
        first = len(argv) - len(tree.words(self.spec, "args"))
        self.argv = [self.mounts.rewrite(resolve(word, names)) for word in argv[:first]]
        self.argv += [self.mounts.rewrite_argument(resolve(word, names)) for word in argv[first:]]
        self.ports = {
            tree.text(entry, "name"): int(tree.number(entry, "containerPort", default=0))
            for entry in tree.items(self.spec, "ports")
        }
        for probe in (Probe.of(kind, self.spec) for kind in ("startup", "readiness", "liveness")):
            if probe:
                probe.check(self.ports)
        self._deleting = asyncio.Event()
        self._grace = tree.number(pod.spec, "terminationGracePeriodSeconds", default=30)

    def tell(self, kind: str, text: str) -> None:
        """Record an event of this pod."""
        self._timeline.add(kind, text, rank=self.pod.rank, pod=self.pod.name)

    async def run(self, delay: float = 0.0) -> None:
        """Run the pod until it is deleted; ``delay`` seconds pass before its container can start."""
        others = [tree.text(each, "name") for each in tree.items(self.pod.spec, "initContainers")]
        others += [tree.text(each, "name") for each in tree.items(self.pod.spec, "containers") if each is not self.spec]
        if others:
            self.tell("note", f"not run, their images are not here: {', '.join(others)}")
        await happens(self._deleting, delay)
        while not self._deleting.is_set():
            began = self._timeline.now()
            await self._live()
            if not self._deleting.is_set():
                await self._wait_to_restart(self._timeline.now() - began)
        self._set(phase="Gone")
        self.place.remove()
        self.tell("deleted", "pod is gone")
        self._changed()

    async def _live(self) -> None:
        """Run one life of the container."""
        life = self.status.restarts
        container = await Container.start(
            self.place, self.argv, self.environment, self.folder / str(life), lambda line: self.tell("log", line)
        )
        self.container = container
        self._set(phase="Running")
        self.tell("started", f"container started (restarts: {life})")
        if self._deleting.is_set():
            container.kill()
        probing = asyncio.create_task(self._probe(container))
        code = await container.wait()
        probing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await probing
        self.tell("exited", f"container ended with {describe(code)}")
        if self.status.ready:
            self.tell("not-ready", "pod is not Ready: its container ended")
        self.verdicts.clear()
        self._set(started=False, ready=False)

    async def _wait_to_restart(self, lived: float) -> None:
        seconds = NOTICE
        if self.status.restarts and lived < BACKOFF_FORGET:
            seconds = min(BACKOFF_MOST, BACKOFF_FIRST * 2 ** (self.status.restarts - 1))
            self._set(phase="BackOff")
            self.tell("backoff", f"CrashLoopBackOff: the container starts again in {seconds:.0f} s")
        if not await happens(self._deleting, seconds):
            self.status.restarts += 1
            self._changed()

    async def _probe(self, container: Container) -> None:
        """Startup first; then readiness and liveness side by side."""
        started = asyncio.Event()
        startup = Probe.of("startup", self.spec)
        waiting = [asyncio.create_task(self._watch(startup, container, started))] if startup else []
        try:
            if startup:
                await started.wait()
                waiting.pop().cancel()
            self._set(started=True)
            for kind in ("readiness", "liveness"):
                probe = Probe.of(kind, self.spec)
                if probe:
                    waiting.append(asyncio.create_task(self._watch(probe, container, started)))
                elif kind == "readiness":
                    self._set_ready(True, "no readiness probe")
            await asyncio.gather(*waiting)
        finally:
            for task in waiting:
                task.cancel()

    async def _watch(self, probe: Probe, container: Container, started: asyncio.Event) -> None:
        async def execute(command: list[str]) -> int:
            static = {
                tree.text(each, "name"): tree.text(each, "value")
                for each in tree.items(self.spec, "env")
                if "value" in each
            }
            return await container.execute([self.mounts.rewrite(expand(word, static)) for word in command])

        async def ask(probe: Probe) -> Result:
            result = await probe.attempt(self.place.address, self.ports, execute)
            before = self.verdicts.get(probe.kind)
            self.verdicts[probe.kind] = result
            if before is None or before.text != result.text:
                self.tell("probe", f"{probe.kind} {'ok' if result.ok else 'failed'}: {result.text}")
            return result

        def verdict(probe: Probe, passed: bool, result: Result) -> None:
            if probe.kind == "readiness":
                self._set_ready(passed, result.text)
            elif not passed:
                why = f"{probe.kind} probe failed {probe.failures} times: {result.text}"
                self._stopping = asyncio.create_task(self._stop(container, self._grace, why))
            elif probe.kind == "startup":
                self.tell("startup", f"startup probe succeeded: {result.text}")
                started.set()

        await probe.watch(ask, verdict)

    def _set_ready(self, ready: bool, why: str) -> None:
        if self._deleting.is_set():
            return
        if ready != self.status.ready:
            self.tell("ready" if ready else "not-ready", f"pod is {'' if ready else 'not '}Ready: {why}")
            self._set(ready=ready)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            if not (name == "phase" and self._deleting.is_set() and value != "Gone"):
                setattr(self.status, name, value)
        self._changed()

    async def _stop(self, container: Container, grace: float, why: str) -> None:
        """PreStop, TERM, and KILL when the grace period is over."""
        self.tell("killing", f"{why}; grace period {grace:.0f} s")
        deadline = self._timeline.now() + grace
        with contextlib.suppress(asyncio.TimeoutError):
            await within(grace, self._pre_stop(container))
        container.signal(signal.SIGTERM)
        if not await happens(container.ended, max(0.0, deadline - self._timeline.now())):
            self.tell("killing", f"still there after {grace:.0f} s: SIGKILL")
            container.kill()
            await container.ended.wait()

    async def _pre_stop(self, container: Container) -> None:
        hook = tree.mapping(self.spec, "lifecycle", "preStop")
        if not hook:
            return
        self.tell("killing", f"preStop: {', '.join(hook)}")
        if "sleep" in hook:
            await asyncio.sleep(tree.number(hook, "sleep", "seconds", default=0))
        elif "exec" in hook:
            await container.execute([self.mounts.rewrite(word) for word in tree.words(hook, "exec", "command")])
        elif "httpGet" in hook:
            probe = Probe("preStop", hook, 0, 1, self._grace, 1, 1)
            await probe.attempt(self.place.address, self.ports, container.execute)

    async def delete(self, why: str, grace: float | None = None) -> None:
        """Delete the pod: it leaves its Services at once, then its container is stopped."""
        if self._deleting.is_set():
            return
        if self.status.ready:
            self.tell("not-ready", "pod is not Ready: it is being deleted")
        self.status.ready = False
        self.status.phase = "Terminating"
        self._deleting.set()
        self._changed()
        container = self.container
        if container is not None and not container.ended.is_set():
            await self._stop(container, self._grace if grace is None else grace, why)

    def kill(self) -> None:
        """End everything of this pod now, without a word."""
        self._deleting.set()
        if self.container is not None:
            self.container.kill()
        processes.send(processes.marked(str(self.folder)), signal.SIGKILL)
        self.place.remove()

    def log_tail(self, lines: int = 12) -> list[str]:
        """Return the last lines of the container's log."""
        path = Path(self.folder / str(self.status.restarts) / "log")
        return path.read_text(errors="replace").splitlines()[-lines:] if path.exists() else []


def describe(code: int) -> str:
    """Return an exit code as a person reads it; negative numbers are signals."""
    if code < 0:
        return f"exit code {128 - code} ({signal.Signals(-code).name})"
    return f"exit code {code}"
