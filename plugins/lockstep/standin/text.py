"""Answers: made of common words, the same for the same seed and prompt on any layout."""

from __future__ import annotations

import hashlib

SENTENCE = (
    "the group answers when every rank is here and each node holds its part of a model so that one "
    "request passes through all of them in order while others wait for their turn at the first stage "
    "of a line which never stops before its last token left"
)
WORDS = SENTENCE.split()


def token(seed: int, prompt: str, index: int) -> str:
    """Return token number ``index`` of the answer, with the space before it."""
    digest = hashlib.blake2b(f"{seed}\0{index}\0{prompt}".encode(), digest_size=4).digest()
    word = WORDS[int.from_bytes(digest, "big") % len(WORDS)]
    return word if index == 0 else f" {word}"


def count(text: str) -> int:
    """Return how many tokens a prompt has: words, at least one."""
    return max(1, len(text.split()))
