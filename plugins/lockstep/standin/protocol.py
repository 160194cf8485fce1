"""The OpenAI-compatible requests and answers, in the shapes that vLLM gives them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from lockstep.standin import text

Json = dict[str, object]

DEFAULT_TOKENS = {"chat": 32, "text": 16}


class RefusedError(ValueError):
    """A request that is answered with an error: HTTP status, type, message."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind

    def body(self) -> Json:
        """Return the error document."""
        return {"error": {"message": str(self), "type": self.kind, "param": None, "code": self.status}}


@dataclass(frozen=True)
class Asked:
    """A request as the engine needs it."""

    chat: bool
    model: str
    prompt: str
    tokens: int
    stream: bool
    usage: bool

    @property
    def length(self) -> int:
        """Prompt tokens."""
        return text.count(self.prompt)


def read(body: Json, *, chat: bool, served: tuple[str, ...], context: int) -> Asked:
    """Check a request.

    Raises
    ------
    RefusedError
        404 for a model that is not served, 400 for everything else.
    """
    model = body.get("model") or served[0]
    if model not in served:
        raise RefusedError(404, "NotFoundError", f"The model `{model}` does not exist.")
    prompt = _chat_prompt(body.get("messages")) if chat else _text_prompt(body.get("prompt"))
    wanted = body.get("max_completion_tokens") or body.get("max_tokens")
    if wanted is None:
        wanted = DEFAULT_TOKENS["chat" if chat else "text"]
    if not isinstance(wanted, int) or wanted < 1:
        raise RefusedError(400, "BadRequestError", f"max_tokens must be at least 1, got {wanted}.")
    length = text.count(prompt)
    if context and length + wanted > context:
        raise RefusedError(
            400,
            "BadRequestError",
            f"This model's maximum context length is {context} tokens. However, you requested {wanted} output tokens "
            f"and your prompt contains {length} input tokens.",
        )
    options = body.get("stream_options")
    usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return Asked(chat, str(model), prompt, wanted, bool(body.get("stream")), usage)


def _chat_prompt(messages: object) -> str:
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise RefusedError(400, "BadRequestError", "messages: a list of messages is expected")
    return "\n".join(f"{each.get('role')}: {_content(each.get('content'))}" for each in messages)


def _content(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def _text_prompt(prompt: object) -> str:
    if isinstance(prompt, list):
        return " ".join(str(part) for part in prompt)
    if not isinstance(prompt, str):
        raise RefusedError(400, "BadRequestError", "prompt: a string or a list is expected")
    return prompt


def _frame(asked: Asked, name: str, *, piece: bool) -> Json:
    kind = ("chat.completion" + (".chunk" if piece else "")) if asked.chat else "text_completion"
    return {"id": name, "object": kind, "created": int(time.time()), "model": asked.model}


def _usage(asked: Asked, made: int) -> Json:
    return {"prompt_tokens": asked.length, "completion_tokens": made, "total_tokens": asked.length + made}


def answer(asked: Asked, name: str, words: list[str]) -> Json:
    """Return the whole answer."""
    content = "".join(words)
    choice: Json = {"index": 0, "logprobs": None, "finish_reason": "length"}
    choice |= {"message": {"role": "assistant", "content": content}} if asked.chat else {"text": content}
    return _frame(asked, name, piece=False) | {"choices": [choice], "usage": _usage(asked, len(words))}


def piece(asked: Asked, name: str, word: str, *, first: bool, last: bool) -> Json:
    """Return one event of a stream."""
    choice: Json = {"index": 0, "logprobs": None, "finish_reason": "length" if last else None}
    delta = {"role": "assistant", "content": word} if first else {"content": word}
    choice |= {"delta": delta} if asked.chat else {"text": word}
    return _frame(asked, name, piece=True) | {"choices": [choice]}


def closing_usage(asked: Asked, name: str, made: int) -> Json:
    """Return the event that ``stream_options.include_usage`` asks for."""
    return _frame(asked, name, piece=True) | {"choices": [], "usage": _usage(asked, made)}
