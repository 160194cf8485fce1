"""The interface given to the collective libraries is the one that holds the pod's address."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Pod

NAMES = ["GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"]


def interfaces(pod: Pod) -> list[object]:
    """Return what the started engine sees in the four variables."""
    environment = pod.run().engine["environment"]
    assert isinstance(environment, dict)
    return [environment.get(name) for name in NAMES]


@pytest.mark.parametrize("address", ["127.0.0.2", "::1"], ids=["ipv4", "ipv6"])
def test_interface_of_the_pod(pod: Pod, address: str) -> None:
    """All four variables name the interface that holds the pod's address."""
    assert ["lo"] * 4 == interfaces(pod.set(POD_IP=address))


def test_no_interface_holds_the_address(pod: Pod) -> None:
    """Nothing starts with an empty name; the message says what there is and which value to set."""
    ended = pod.set(POD_IP="192.0.2.77").run()

    assert 1 == ended.code
    assert "no interface of this pod holds 192.0.2.77" in ended.stderr
    assert "Set network.interface" in ended.stderr
    assert "" == ended.stdout


def test_address_that_is_none(pod: Pod) -> None:
    """Text in the place of the pod's address is refused without a traceback."""
    ended = pod.set(POD_IP="eth0").run()

    assert 1 == ended.code
    assert "LOCKSTEP_POD_IP is 'eth0': that is no IP address" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_interface_from_the_values(pod: Pod) -> None:
    """network.interface wins over the one that would be found."""
    assert ["lo"] * 4 == interfaces(pod.set(INTERFACE="lo", POD_IP="192.0.2.77"))


def test_interface_that_the_pod_lacks(pod: Pod) -> None:
    """A name from the values that no interface has is refused with those there are."""
    ended = pod.set(INTERFACE="ens5").run()

    assert 1 == ended.code
    assert "network.interface is 'ens5', but this pod has only: lo" in ended.stderr


def test_lists_are_for_nccl(pod: Pod) -> None:
    """NCCL keeps the user's list; Gloo still gets one real name."""
    pod.set(NCCL_SOCKET_IFNAME="^lo,docker")

    assert ["lo", "^lo,docker", "lo", "lo"] == interfaces(pod)


@pytest.mark.parametrize("value", ["^lo,docker0", "eth0,eth1", "=eth0"])
def test_gloo_takes_no_list(pod: Pod, value: str) -> None:
    """NCCL's syntax in Gloo's variable is refused, naming it."""
    ended = pod.set(GLOO_SOCKET_IFNAME=value).run()

    assert 64 == ended.code
    assert f"GLOO_SOCKET_IFNAME is '{value}'" in ended.stderr


@pytest.fixture
def node() -> Iterator[list[str]]:
    """Return the prefix of a command inside a network namespace whose ens5 holds a first and a second address."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the ip command to make a network namespace")
    name = f"launch-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs the right to make a network namespace")
    inside = ["ip", "netns", "exec", name]
    try:
        for step in (
            "link add ens5 type veth peer name other",
            "addr add 10.9.9.9/24 dev other",
            "link set other up",
            "addr add 10.1.2.3/24 dev ens5",
            "addr add 10.1.2.4/24 dev ens5",
            "addr add fd00::7/64 dev ens5 nodad",
            "link set ens5 up",
        ):
            subprocess.run([*inside, "ip", *step.split()], check=True)
        yield inside
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.parametrize("address", ["10.1.2.3", "10.1.2.4", "fd00::7"], ids=["first", "second", "ipv6"])
def test_interface_of_a_node(pod: Pod, node: list[str], address: str) -> None:
    """On a host network the interface is found by any address that it holds."""
    pod.set(POD_IP=address)
    done = subprocess.run(
        [*node, *pod.command()], env=pod.environment, capture_output=True, text=True, timeout=30, check=True
    )

    assert '"GLOO_SOCKET_IFNAME": "ens5"' in done.stdout


@pytest.mark.parametrize(
    ("bind", "address", "host"),
    [(None, "127.0.0.2", "0.0.0.0"), (None, "::1", "::"), ("127.0.0.2", "127.0.0.2", "127.0.0.2")],
    ids=["ipv4", "ipv6", "given"],
)
def test_address_to_serve_on(pod: Pod, bind: str | None, address: str, host: str) -> None:
    """The engine listens on all addresses of the pod's family, or on the one it is told."""
    command = pod.set(BIND=bind, POD_IP=address).run("engine").command

    assert host == command[command.index("--host") + 1]
