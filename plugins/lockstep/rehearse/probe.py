"""One probe of kubelet: asks with a period, counts to its thresholds, says when its verdict changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import http, tree
from lockstep.rehearse.waiting import within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from lockstep.rehearse.tree import Node


@dataclass(frozen=True)
class Result:
    """What one attempt found."""

    ok: bool
    text: str


@dataclass(frozen=True)
class Probe:
    """A probe with the API's defaults filled in."""

    kind: str
    spec: Node
    delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, kind: str, container: Node) -> Probe | None:
        """Read ``<kind>Probe`` of a container; None when it has none."""
        spec = tree.mapping(container, f"{kind}Probe")
        if not spec:
            return None
        return cls(
            kind,
            spec,
            delay=tree.number(spec, "initialDelaySeconds", default=0),
            period=tree.number(spec, "periodSeconds", default=10),
            timeout=tree.number(spec, "timeoutSeconds", default=1),
            successes=int(tree.number(spec, "successThreshold", default=1)),
            failures=int(tree.number(spec, "failureThreshold", default=3)),
        )

    def check(self, ports: dict[str, int]) -> None:
        """Refuse a probe that can never be asked.

        Raises
        ------
        LockstepError
            For a handler that is not known here, or a port name that the container does not declare.
        """
        for handler in ("httpGet", "tcpSocket"):
            if handler in self.spec:
                port_number(self.spec[handler].get("port"), ports)
        if not {"exec", "httpGet", "tcpSocket"} & self.spec.keys():
            raise LockstepError(
                f"the {self.kind} probe has no handler that a rehearsal knows: it has {', '.join(self.spec)}"
            )

    async def attempt(self, address: str, ports: dict[str, int], execute: Execute) -> Result:
        """Ask once."""
        if "exec" in self.spec:
            return await self._execute(execute)
        for handler in ("httpGet", "tcpSocket"):
            if handler in self.spec:
                port = port_number(self.spec[handler].get("port"), ports)
                host = tree.text(self.spec, handler, "host", default=address)
                return await (self._get(host, port) if handler == "httpGet" else self._connect(host, port))
        raise AssertionError("check lets no other handler through")

    async def _execute(self, execute: Execute) -> Result:
        try:
            code = await within(self.timeout, execute(tree.words(self.spec, "exec", "command")))
        except asyncio.TimeoutError:
            return Result(False, f"command timed out after {self.timeout:g} s")
        return Result(code == 0, f"command ended with {code}")

    async def _get(self, host: str, port: int) -> Result:
        path = tree.text(self.spec, "httpGet", "path", default="/")
        headers = {
            tree.text(each, "name"): tree.text(each, "value")
            for each in tree.items(self.spec, "httpGet", "httpHeaders")
        }
        try:
            answer = await http.request(host, port, path, timeout=self.timeout, headers=headers)
        except (OSError, asyncio.TimeoutError) as error:
            return Result(False, f"GET {path} on port {port}: {reason(error)}")
        return Result(200 <= answer.status < 400, f"GET {path} on port {port}: {answer.status}")

    async def _connect(self, host: str, port: int) -> Result:
        try:
            _, writer = await within(self.timeout, asyncio.open_connection(host, port))
        except (OSError, asyncio.TimeoutError) as error:
            return Result(False, f"port {port}: {reason(error)}")
        writer.close()
        return Result(True, f"port {port}: open")

    async def watch(
        self, ask: Callable[[Probe], Awaitable[Result]], verdict: Callable[[Probe, bool, Result], None]
    ) -> None:
        """Ask for ever; call ``verdict`` at each crossing of a threshold."""
        await asyncio.sleep(self.delay)
        good = bad = 0
        passed: bool | None = None
        while True:
            began = asyncio.get_running_loop().time()
            result = await ask(self)
            good, bad = (good + 1, 0) if result.ok else (0, bad + 1)
            if good >= self.successes and passed is not True:
                passed = True
                verdict(self, True, result)
            elif bad >= self.failures and passed is not False:
                passed = False
                verdict(self, False, result)
            await asyncio.sleep(max(0.0, self.period - (asyncio.get_running_loop().time() - began)))


def port_number(port: object, ports: dict[str, int]) -> int:
    """Return a port given by number or by name.

    Raises
    ------
    LockstepError
        For a name that the container does not declare.
    """
    if isinstance(port, int):
        return port
    if str(port).isdigit():
        return int(str(port))
    if str(port) not in ports:
        raise LockstepError(f"port {port!r} is none of the container's: {', '.join(ports) or 'it declares none'}")
    return ports[str(port)]


def reason(error: BaseException) -> str:
    """Return why nothing answered, in two or three words."""
    if isinstance(error, asyncio.TimeoutError | TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return str(error) or type(error).__name__


if TYPE_CHECKING:
    Execute = Callable[[list[str]], Coroutine[object, object, int]]
