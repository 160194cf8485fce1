"""The commands in a shell script, as far as they can be told without running it."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHELLS: Final = ("sh", "bash", "dash", "ash")
_ENDS: Final = {";", "\n", "&", "&&", "|", "||", "(", ")", ";;", "{", "}"}
_WORDS: Final = {"if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "!", "export", "local"}
_COMMENT: Final = re.compile(r"(?m)^[ \t]*#.*$|[ \t]#[^\n'\"]*$")
_SUM: Final = re.compile(r"\$\(\(([^()]*)\)\)")
_PLAIN_SUM: Final = re.compile(r"\$\[([^\]]*)\]")
_CALLED: Final = re.compile(r"\$\([^()]*\)|`[^`]*`")
_REDIRECTED: Final = re.compile(r"(?<=\s)(?:\d?>&\d|[\d&]?>>?\s*[^\s;&|]+)")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::?[-=]([^}]*))?\}|(\w+))")
_ARRAY: Final = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_ASSIGNED: Final = re.compile(r"(\w+)(\+?)=(.*)", re.DOTALL)
_TERMS: Final = re.compile(r"\d+|\w+|[-+*/]|\S")
UNKNOWN: Final = "$?"  # stands for what a command substitution would print
_DEPTH: Final = 4


def commands(argv: Sequence[str], known: Mapping[str, str], scripts: Mapping[str, str]) -> Iterator[list[str]]:
    """Give the simple commands that a container runs, the ones in scripts included.

    Parameters
    ----------
    argv : sequence of str
        Command and args of the container, after Kubernetes has put its variables in.
    known : mapping of str to str
        Its variables; others stay as they are written.
    scripts : mapping of str to str
        Text of the scripts that it can call, by file name.

    Yields
    ------
    list of str
        The words of one command.
    """
    yield from _walk(list(argv), dict(known), dict(scripts), 0)


def _walk(words: list[str], known: dict[str, str], scripts: dict[str, str], depth: int) -> Iterator[list[str]]:
    if depth > _DEPTH:
        return
    if len(words) == 1 and re.search(r"\s", words[0]):  # KubeRay puts it into a shell's command line
        yield from _script(words[0], known, scripts, depth)
        return
    yield words
    for at, word in enumerate(words):
        name = PurePosixPath(word).name
        if name in SHELLS:
            flag = next((i for i in range(at + 1, len(words)) if re.fullmatch(r"-[a-z]*c", words[i])), None)
            if flag is not None:
                inner = next((text for text in words[flag + 1 :] if text != "--"), "")
                yield from _script(inner, known, scripts, depth)
        if name in scripts:
            yield from _script(scripts.pop(name), known, scripts, depth)


def _script(text: str, known: dict[str, str], scripts: dict[str, str], depth: int) -> Iterator[list[str]]:
    """Walk through a script from top to bottom; every branch counts as taken."""
    arrays: dict[str, list[str]] = {}
    for words in _split(text):
        words = _assign(words, known, arrays)
        if words:
            yield from _walk(words, known, scripts, depth + 1)


def _split(text: str) -> Iterator[list[str]]:
    """Split a script into commands of words; an array's words stand between ``name=`` and ``)``."""
    lexer = shlex.shlex(_plain(text), posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    array = False
    try:
        for token in iter(lexer.get_token, None):
            sign = token.strip() if set(token) <= set(";&|()\n") else None
            if sign is None:
                words.append(token)
            elif array:
                array = not sign.startswith(")")
                words += [] if array else [")"]
            elif sign == "(" and words and words[-1].endswith("="):
                array = True
            if sign is not None and not array and (sign != ")" or "\n" in token or words[-1:] != [")"]):
                yield words
                words = []
    except ValueError:  # a quote that never ends: what came before stands
        pass
    yield words


def _plain(text: str) -> str:
    """Take out what has no part in a command: comments, redirections, and the parentheses of ``$(...)``."""
    text = _COMMENT.sub("", text.replace("\\\n", " "))
    text = _SUM.sub(lambda found: f"$[{''.join(found[1].split())}]", text)
    while (shorter := _CALLED.sub(UNKNOWN, text)) != text:
        text = shorter
    return _REDIRECTED.sub(" ", text)


def _assign(words: list[str], known: dict[str, str], arrays: dict[str, list[str]]) -> list[str]:
    """Take assignments in front of a command off, and put variables into the rest."""
    rest = list(words)
    while rest and rest[0] in _WORDS | _ENDS:
        rest.pop(0)
    while rest and (found := _ASSIGNED.fullmatch(rest[0])):
        name, more, value = found.groups()
        rest.pop(0)
        if not value and ")" in rest:
            end = rest.index(")")
            items = [item for word in rest[:end] for item in _put(word, known, arrays)]
            arrays[name] = (arrays.get(name, []) if more else []) + items
            rest = rest[end + 1 :]
        else:
            known[name] = (known.get(name, "") if more else "") + " ".join(_put(value, known, arrays))
    return [item for word in rest for item in _put(word, known, arrays)]


def _put(word: str, known: Mapping[str, str], arrays: Mapping[str, list[str]]) -> list[str]:
    """Put variables into a word; what is not known stays as it is written."""
    whole = _ARRAY.fullmatch(word)
    if whole:
        return arrays.get(whole[1], [word])
    if word.startswith("$") and known.get(word[1:].strip("{}"), "").startswith("-"):
        return known[word[1:].strip("{}")].split()  # flags that were gathered in a variable
    word = _PLAIN_SUM.sub(lambda found: _total(found[1], known), word)

    def value(found: re.Match[str]) -> str:
        name, default, bare = found.groups()
        return known.get(name or bare) or (default if default is not None else found[0])

    return [_VARIABLE.sub(value, word)]


def _total(text: str, known: Mapping[str, str]) -> str:
    """Work out a sum of whole numbers from left to right; UNKNOWN for anything else."""
    bare = _VARIABLE.sub(lambda found: known.get(found[1] or found[3]) or found[2] or "?", text)
    terms = [known.get(term, term) for term in _TERMS.findall(bare)]
    if len(terms) % 2 == 0 or any(not term.isdecimal() for term in terms[::2]):
        return UNKNOWN
    total = int(terms[0])
    for sign, term in zip(terms[1::2], terms[2::2], strict=True):
        number = int(term)
        if sign == "/" and not number:
            return UNKNOWN
        steps = {"+": total + number, "-": total - number, "*": total * number}
        total = total // number if sign == "/" else steps.get(sign, total)
    return str(total)
