"""``$(NAME)`` as kubelet expands it: kubernetes/kubernetes, third_party/forked/golang/expansion."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def expand(text: str, known: Mapping[str, str]) -> str:
    """Expand one string.

    A name that is not known stays as it is written, ``$$`` becomes ``$`` (so ``$$(NAME)`` is the text
    ``$(NAME)``), and a ``$`` before anything else stays.

    Parameters
    ----------
    text : str
        A word of command or args, or the value of a variable.
    known : Mapping[str, str]
        For a variable: those defined before it. For a word: all of the container.

    Returns
    -------
    str
        The text that the container gets.
    """
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            out.append(text[at])
            at += 1
        elif text[at + 1] == "$":
            out.append("$")
            at += 2
        elif text[at + 1] == "(" and (end := text.find(")", at + 2)) >= 0:
            name = text[at + 2 : end]
            out.append(known.get(name, f"$({name})"))
            at = end + 1
        else:
            out.append(text[at : at + 2])
            at += 2
    return "".join(out)
