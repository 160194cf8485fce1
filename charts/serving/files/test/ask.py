"""What ``helm test`` runs: whether the release answers, and all ranks of its groups with it.

The API is asked through the release's Service for its models and for a completion, which takes every rank of a group.
Then the supervisor of each pod says whether its group serves; the stack's headless Services name the pods.
Standard library only: it runs in the engine's image. Each line of the output is one answer; exit code 0: all are right.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATIENCE = 30.0  # seconds for addresses that are on their way to every node; not for a model that still loads
ANSWER = 60.0  # seconds for one answer: the first completion may set off a compilation
TOKENS = 8

Said = tuple[bool, str]  # whether it is right, and the text


class WrongError(Exception):
    """An answer that is missing or wrong; the text says which."""


def main() -> int:
    """Ask until everything is right, at most for a while, and say what was heard last."""
    deadline = time.monotonic() + PATIENCE
    said = list(answers(os.environ))
    while not all(right for right, _ in said) and time.monotonic() < deadline:
        time.sleep(2)
        said = list(answers(os.environ))
    for right, text in said:
        print("ok:" if right else "WRONG:", text)
    return int(not all(right for right, _ in said))


def answers(given: Mapping[str, str]) -> Iterator[Said]:
    """Ask everything once."""
    where = given["LOCKSTEP_TEST_API"], given["LOCKSTEP_TEST_MODEL"], given.get("LOCKSTEP_TEST_KEY", "")
    yield tried(models, *where)
    yield tried(completion, *where)
    addresses: set[str] = set()
    for name in given.get("LOCKSTEP_TEST_PEERS", "").split():
        found = look_up(name)
        addresses |= found
        if not found:
            yield False, f"no pod has the name {name}"
    if addresses:
        nodes, port = int(given["LOCKSTEP_TEST_NODES"]), given["LOCKSTEP_TEST_STATUS_PORT"]
        yield len(addresses) % nodes == 0, f"{len(addresses)} pods, {nodes} to a group"
        for address in sorted(addresses):
            yield tried(rank, address, port)


def tried(question: Callable[..., str], *words: str) -> Said:
    """Ask one question."""
    try:
        return True, question(*words)
    except WrongError as wrong:
        return False, str(wrong)
    except (KeyError, TypeError, ValueError) as error:
        return False, f"{words[0]} does not answer like OpenAI's API: {type(error).__name__} {error}"


def models(api: str, model: str, key: str) -> str:
    """Look for the served name among the models."""
    listed = [str(each["id"]) for each in json.loads(ask(f"{api}/v1/models", key))["data"]]
    if model not in listed:
        raise WrongError(f"{api}/v1/models lists {', '.join(listed) or 'nothing'}, but not {model}")
    return f"{api} serves {model}"


def completion(api: str, model: str, key: str) -> str:
    """Let the group make a few tokens."""
    body = json.dumps({"model": model, "prompt": "Once upon a time", "max_tokens": TOKENS}).encode()
    started = time.monotonic()
    answer = json.loads(ask(f"{api}/v1/completions", key, body))
    if not answer["choices"] or not answer["usage"]["completion_tokens"]:
        raise WrongError(f"{api}/v1/completions gave no token: {json.dumps(answer)[:300]}")
    seconds, text = time.monotonic() - started, answer["choices"][0]["text"]
    return f"{answer['usage']['completion_tokens']} tokens in {seconds:.2f} s: {text!r}"


def look_up(name: str) -> set[str]:
    """Addresses of a name; none when nothing has it."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except socket.gaierror:
        return set()


def rank(address: str, port: str) -> str:
    """Ask the supervisor of one pod."""
    host = f"[{address}]" if ":" in address else address
    return f"rank at {address}: {ask(f'http://{host}:{port}/ready').strip()}"


def ask(url: str, key: str = "", body: bytes | None = None) -> str:
    """Get a page, or post JSON to it."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        text = error.read(300).decode(errors="replace").strip()
        raise WrongError(f"{url} says {error.code}: {text}") from None
    except OSError as error:
        raise WrongError(f"{url} does not answer: {getattr(error, 'reason', error)}") from None


if __name__ == "__main__":
    sys.exit(main())
