"""The API server over HTTP, for what a cluster itself needs before anybody uses it.

kubectl would cost half a second a call.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TRIES = 30


class ApiError(Exception):
    """The API server refused; the message holds its words."""


class NotFoundError(ApiError):
    """There is no such object."""


def administrator(port: int, pki: Path) -> http.client.HTTPConnection:
    """Connect to the API server of a simulated cluster with the certificate of its administrator."""
    tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    return http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=30)


class Api:
    """An API server behind one connection.

    Parameters
    ----------
    prefix, headers
        In front of every path, and with every request.
    """

    def __init__(
        self, connection: http.client.HTTPConnection, prefix: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        self.connection = connection
        self.prefix = prefix
        self.headers = {"Accept": "application/json", **(headers or {})}

    def close(self) -> None:
        """End the connection."""
        self.connection.close()

    def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, content: str = "application/json"
    ) -> dict[str, Any]:
        """Send one request and return the object in the answer.

        Raises
        ------
        ApiError
            The answer is an error; NotFoundError if there is no such object.
        """
        headers = {**self.headers, "Content-Type": content}
        for _ in range(TRIES):
            self.connection.request(method, self.prefix + path, json.dumps(body) if body is not None else None, headers)
            response = self.connection.getresponse()
            text = response.read()
            if response.status != http.client.TOO_MANY_REQUESTS:
                break
            time.sleep(1)  # as it asks for: after a restart it reads its custom resources first
        if response.status >= 400:
            kind = NotFoundError if response.status == http.client.NOT_FOUND else ApiError
            raise kind(f"{method} {path}: {response.status} {text.decode(errors='replace')[:2000]}")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object in the collection at ``path``."""
        return self.call("POST", path, body)

    def merge(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Change an object by a merge patch."""
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def apply(self, path: str, body: dict[str, Any], manager: str = "sim") -> dict[str, Any]:
        """Create or change an object by server-side apply."""
        query = f"fieldManager={manager}&force=true"
        return self.call("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")

    def get(self, path: str) -> dict[str, Any]:
        """Read an object or a list."""
        return self.call("GET", path)

    def groups(self) -> set[str]:
        """Names of all API groups that are served, the core group as an empty string."""
        return {"", *(group["name"] for group in self.get("/apis")["groups"])}
