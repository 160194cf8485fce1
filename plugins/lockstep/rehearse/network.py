"""Where pods run: each with an address of its own, in namespaces on one bridge or on loopback."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import re
import subprocess
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lockstep.errors import LockstepError
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from lockstep.rehearse.pod import Pod

SANDBOX = Path(__file__).with_name("sandbox.sh")
ENTER = Path(__file__).with_name("enter.sh")


class Place(Protocol):
    """Where one pod runs."""

    address: str

    def start(self, argv: list[str], folder: Path) -> list[str]:
        """Return the command that starts a container's process here."""

    def inside(self, first: int, argv: list[str]) -> list[str]:
        """Return the command that runs beside the container's process number ``first``."""

    def first_process(self, pid: int) -> int | None:
        """Return the container's process 1, given what ``start`` became; None before it exists."""

    def cut(self, *, off: bool) -> None:
        """Cut the pod off from the other pods, or heal that. Kubelet still reaches it."""

    def remove(self) -> None:
        """Give everything back."""


class Network(Protocol):
    """Makes places."""

    kind: str
    names: bool  # whether pods' names resolve
    isolated: bool  # whether a pod's address is its only one, so that programs may listen on all of them

    async def attach(self, pod: Pod) -> Place:
        """Give a pod its address."""


@dataclass
class LoopbackPlace:
    """A pod that is only an address in 127.0.0.0/8."""

    address: str

    def start(self, argv: list[str], folder: Path) -> list[str]:  # noqa: ARG002 - the folder is the process's own
        """Start it as it is."""
        return argv

    def inside(self, first: int, argv: list[str]) -> list[str]:  # noqa: ARG002 - everything is inside
        """Run it as it is."""
        return argv

    def first_process(self, pid: int) -> int | None:
        """Return the process itself."""
        return pid

    def cut(self, *, off: bool) -> None:  # noqa: ARG002 - there is nothing to heal either
        """Refuse: there is nothing to cut."""
        raise LockstepError("a network cut needs network namespaces, which are not allowed here (--network)")

    def remove(self) -> None:
        """Nothing was made."""


class Loopback:
    """Addresses 127.x.y.z. A rank keeps its own over the lives of its pod: names do not resolve here."""

    kind = "loopback"
    names = False
    isolated = False

    def __init__(self, token: int) -> None:
        self._prefix = f"127.{64 + token % 128}.{token // 128 % 256}"

    async def attach(self, pod: Pod) -> Place:
        """Give the rank its address.

        Raises
        ------
        LockstepError
            When a port of the pod is in use there.
        """
        place = LoopbackPlace(f"{self._prefix}.{10 + pod.rank}")
        for entry in tree.items(pod.container(), "ports"):
            await _must_be_free(place.address, int(tree.number(entry, "containerPort", default=0)))
        return place


async def _must_be_free(address: str, port: int) -> None:
    try:
        server = await asyncio.start_server(lambda *_: None, address, port)
    except OSError as error:
        raise LockstepError(
            f"port {port} is in use on {address} ({error.strerror or error}): a program listens on it on all "
            "addresses. Stop it, or rehearse where network namespaces are allowed (as root, or with user namespaces)."
        ) from None
    server.close()
    await server.wait_closed()


def resolve(text: str, names: dict[str, str]) -> str:
    """Return the text with each name in it replaced by its address, where it is a whole name."""
    if not names:
        return text
    longest = sorted(names, key=len, reverse=True)
    found = re.compile(r"(?<![\w.-])(" + "|".join(map(re.escape, longest)) + r")(?![\w.-])")
    return found.sub(lambda match: names[match[1]], text)


def _ip(*lines: str, inside: int | None = None) -> None:
    """Run ``ip`` commands, in this network namespace or in that of a process."""
    prefix = ["nsenter", "--target", str(inside), "--net", "--"] if inside else []
    batch = "\n".join(lines) + "\n"
    done = subprocess.run([*prefix, "ip", "-batch", "-"], input=batch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LockstepError(f"the pods' network cannot be made: {done.stderr.strip()}")


@dataclass
class NamespacePlace:
    """A pod in namespaces of its own; ``sandbox`` holds them."""

    address: str
    sandbox: subprocess.Popen[str]
    port: str
    hosts: Hosts
    joined: tuple[str, ...] = ("--net", "--mount", "--ipc", "--uts")

    def start(self, argv: list[str], folder: Path) -> list[str]:
        """Enter the sandbox and start process 1 of a new pid namespace."""
        enter = ["nsenter", "--target", str(self.sandbox.pid), *self.joined, "--"]
        return [*enter, "unshare", "--pid", "--mount", "--", "bash", str(ENTER), str(folder), *argv]

    def inside(self, first: int, argv: list[str]) -> list[str]:
        """Enter all namespaces of the container."""
        return ["nsenter", "--target", str(first), *self.joined, "--pid", "--", *argv]

    def first_process(self, pid: int) -> int | None:
        """Return the child of ``enter.sh``."""
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                return int(child)
        return None

    def cut(self, *, off: bool) -> None:
        """Let the bridge drop what comes from and goes to the pod, without a sign to anyone."""
        if self.sandbox.poll() is not None:
            return  # the pod is gone, and its link with it
        disabled, forwarding = "0", "3"  # linux/if_bridge.h
        state = disabled if off else forwarding
        subprocess.run(["bridge", "link", "set", "dev", self.port, "state", state], check=True)

    def remove(self) -> None:
        """End the sandbox: the kernel takes the rest with it."""
        self.hosts.forget(self.address)
        self.sandbox.kill()
        self.sandbox.wait()


@dataclass
class Hosts:
    """The ``/etc/hosts`` of all pods: one file, so that a new address is known everywhere at once."""

    path: Path
    entries: dict[str, list[str]] = field(default_factory=dict)

    def add(self, address: str, names: list[str]) -> None:
        """Publish a pod's names, ready or not."""
        self.entries[address] = names
        self._write()

    def forget(self, address: str) -> None:
        """Take a pod's names back."""
        self.entries.pop(address, None)
        self._write()

    def _write(self) -> None:
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        lines += [f"{address} {' '.join(names)}" for address, names in self.entries.items()]
        # In place: the pods have this very file mounted.
        self.path.write_text("\n".join(lines) + "\n")


class Namespaces:
    """Pods on one bridge. Runs inside namespaces of the rehearsal's own, so nothing outlives it.

    Each pod has two links: ``eth0`` on the bridge to the other pods, and ``node`` to kubelet, so that a
    cut between pods does not blind the probes, as on a real node.
    """

    kind = "namespaces"
    names = True
    isolated = True

    def __init__(self, folder: Path) -> None:
        self._hosts = Hosts(folder / "hosts")
        self._subnet = ipaddress.ip_network("10.99.0.0/24")
        self._next = 10
        _ip("link set lo up", "link add pods type bridge", "link set pods up")

    async def attach(self, pod: Pod) -> Place:
        """Make the pod's namespaces and links."""
        address = str(self._subnet[self._next])
        port, node = f"pod{self._next}", f"node{self._next}"
        self._next += 1
        self._hosts.add(address, pod.names)
        fresh = ["unshare", "--net", "--mount", "--ipc", "--uts", "--", "bash", str(SANDBOX)]
        arguments = [str(self._hosts.path), str(shared_memory(pod)), pod.hostname]
        sandbox = subprocess.Popen(
            [*fresh, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        with sandbox.stdout or nullcontext(io.StringIO()) as said:
            first = await asyncio.to_thread(said.readline)
        if first != "ready\n":
            sandbox.kill()
            raise LockstepError(f"pod {pod.name}: its namespaces cannot be made: {first.strip()}")
        _ip(
            f"link add {port} type veth peer name eth0 netns {sandbox.pid}",
            f"link add {node} type veth peer name node netns {sandbox.pid}",
            f"link set {port} master pods up",
            f"link set {node} up",
            f"addr add 169.254.0.1/32 dev {node}",
            f"route add {address}/32 dev {node} src 169.254.0.1",
        )
        _ip(
            "link set lo up",
            f"addr add {address}/{self._subnet.prefixlen} dev eth0",
            "link set eth0 up",
            "link set node up",
            "route add 169.254.0.1/32 dev node",
            inside=sandbox.pid,
        )
        return NamespacePlace(address, sandbox, port, self._hosts)


def shared_memory(pod: Pod) -> int:
    """Return the bytes of the volume mounted at /dev/shm; 64 MiB where there is none, as in a container."""
    for mount in tree.items(pod.container(), "volumeMounts"):
        if tree.text(mount, "mountPath").rstrip("/") == "/dev/shm":  # noqa: S108 - the name of the mount
            for volume in tree.items(pod.spec, "volumes"):
                if volume.get("name") == mount.get("name"):
                    return quantity(tree.text(volume, "emptyDir", "sizeLimit", default="1Gi"))
    return 64 << 20


def quantity(text: str) -> int:
    """Return a Kubernetes quantity in bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:([KMGT])i|([kMGT]))?", text)
    if not found:
        raise LockstepError(f"{text!r} is no quantity")
    powers = {"K": 1, "k": 1, "M": 2, "G": 3, "T": 4}
    if found[2]:
        return int(float(found[1]) * 1024 ** powers[found[2]])
    return int(float(found[1]) * 1000 ** powers.get(found[3] or "", 0))
