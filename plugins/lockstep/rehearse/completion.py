"""Send a request as a client does: to the Service, which knows the Ready pods it selects."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import http, tree
from lockstep.rehearse.probe import port_number, reason

if TYPE_CHECKING:
    from lockstep.rehearse.controller import Controller
    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.tree import Node

PROMPT = "Say in one sentence what a group of nodes does."


@dataclass(frozen=True)
class Completion:
    """What came back.

    Attributes
    ----------
    ok : bool
        Whether it is an answer.
    text : str
        The answer, or why there is none.
    seconds : float
        From asking to the last byte.
    tokens : int
        Completion tokens.
    """

    ok: bool
    text: str
    seconds: float
    tokens: int = 0


def service(group: Group) -> Node | None:
    """Return the Service for clients: the rendered one that selects pods and is not headless."""
    for each in group.objects:
        headless = tree.text(each, "spec", "clusterIP") == "None"
        if each.get("kind") == "Service" and not headless and tree.mapping(each, "spec", "selector"):
            return each
    return None


def endpoint(controller: Controller) -> tuple[str, int]:
    """Return address and port of a pod behind the Service.

    Raises
    ------
    ConnectionError
        When no Ready pod is selected: a client would be refused.
    LockstepError
        When no Service was rendered.
    """
    found = service(controller.group)
    if found is None:
        raise LockstepError("no Service for clients was rendered")
    selector = tree.strings(found, "spec", "selector")
    port = tree.items(found, "spec", "ports")[0]
    for pod in controller.pods.values():
        if pod.status.ready and selector.items() <= pod.pod.labels.items():
            return pod.place.address, port_number(port.get("targetPort", port.get("port")), pod.ports)
    raise ConnectionError(f"Service {tree.text(found, 'metadata', 'name')} has no Ready endpoint")


async def complete(controller: Controller, prompt: str, timeout: float, tokens: int) -> Completion:
    """Ask one chat completion of at most so many tokens."""
    began = time.monotonic()
    environment = controller.pods[0].environment
    key = environment.get("VLLM_API_KEY")
    body = {
        "model": environment.get("LOCKSTEP_SERVED_NAME"),
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
    }
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        address, port = endpoint(controller)
        answer = await http.request(address, port, "/v1/chat/completions", timeout=timeout, body=body, headers=headers)
    except (OSError, asyncio.TimeoutError) as error:
        return Completion(False, reason(error), time.monotonic() - began)
    return _read(answer, time.monotonic() - began)


def _read(answer: http.Answer, seconds: float) -> Completion:
    try:
        document = json.loads(answer.body)
        text = str(document["choices"][0]["message"]["content"])
        tokens = int(document["usage"]["completion_tokens"])
    except (ValueError, LookupError, TypeError):
        return Completion(False, f"HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}", seconds)
    return Completion(True, text, seconds, tokens)
