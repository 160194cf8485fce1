"""Signs that something is ready: an address that answers, a condition that holds."""

from __future__ import annotations

import socket
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def true_conditions(item: dict[str, Any]) -> set[str]:
    """Types of the conditions that hold. A new object has none, which the API server writes as null."""
    conditions = item.get("status", {}).get("conditions") or []
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


def untainted(node: dict[str, Any]) -> bool:
    """Whether the taints that a new node gets until it is Ready are gone."""
    return not any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints") or [])


def answers(address: str, authority: Path) -> bool:
    """Whether something answers 200 at an address, or accepts a connection at a ``tcp://`` one."""
    try:
        if address.startswith("tcp://"):
            host, _, port = address.removeprefix("tcp://").rpartition(":")
            socket.create_connection((host, int(port)), timeout=2).close()
            return True
        tls = ssl.create_default_context(cafile=str(authority)) if address.startswith("https") else None
        direct = [urllib.request.ProxyHandler({}), *([urllib.request.HTTPSHandler(context=tls)] if tls else [])]
        with urllib.request.build_opener(*direct).open(address, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False
