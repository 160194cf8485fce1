"""Connections to a port are counted as the kernel shows them, on real sockets."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest
from group import connections as module
from group.connections import connections


def test_connections_come_and_go() -> None:
    """None before anybody listens, then those that are open; a client that only reads counts, too."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as held:
        port = server.getsockname()[1]
        counts = [connections(port, "0.0.0.0")]
        clients = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(2)]
        sides = [held.enter_context(server.accept()[0]) for _ in clients]
        counts.append(connections(port, "0.0.0.0"))
        clients[0].shutdown(socket.SHUT_WR)
        counts.append(connections(port, "0.0.0.0"))
        for side in sides:
            side.close()
        counts.append(connections(port, "0.0.0.0"))

    assert [0, 2, 2, 0] == counts
    assert connections(port, "0.0.0.0") is None


def test_pods_that_share_a_namespace_have_an_address_each() -> None:
    """With an address of its own a pod counts what comes to that."""
    with socket.create_server(("127.0.0.2", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.2", port)):
            counts = [connections(port, bind) for bind in ("0.0.0.0", "::", "127.0.0.2", "127.0.0.3", "::1")]

    assert [1, 1, 1, None, None] == counts


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_addresses_of_both_families() -> None:
    """On a dual-stack port IPv4 comes as a mapped address."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("::1", port)):
            assert 2 == connections(port, "::")


def test_tables_that_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox without them says nothing, rather than that nobody is there."""
    monkeypatch.setattr(module, "TABLES", ("/proc/net/none",))
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert connections(server.getsockname()[1], "0.0.0.0") is None
