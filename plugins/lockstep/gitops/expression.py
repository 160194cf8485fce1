"""Read the Go templates of an ApplicationSet: which keys they use, and whether another engine may evaluate them.

Argo CD and Helm both run Go's text/template with sprig, but not the same: each adds functions of its own, and Helm
prints nothing for a key that is not there, where ``missingkey=error`` stops. So every access to a key is rewritten to
one that fails where the key is missing, and functions that only one of the two has are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockstep.errors import ValuesError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ACTION: Final = re.compile(r"""\{\{(?:"(?:\\.|[^"\\])*"|`[^`]*`|(?!\}\}).)*\}\}""", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""
      (?P<string>"(?:\\.|[^"\\])*"|`[^`]*`|'(?:\\.|[^'\\])*')
    | (?P<number>\d[\w.]*)
    | (?P<chain>\$\w*(?:\.[A-Za-z_]\w*)*|(?:\.[A-Za-z_]\w*)+|\.)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<rest>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_REFUSED: Final = {
    "Argo CD does not have it, only Helm": {
        *("include", "tpl", "required", "lookup", "toToml", "fromToml", "toYamlPretty", "mustToYaml", "fromJsonArray"),
        *("env", "expandenv", "getHostByName"),
    },
    "only Argo CD has it, so it cannot be evaluated here": {"normalize", "slugify"},
    "it gives something else each time, so the Applications would never come to rest": {
        *("now", "uuidv4", "shuffle", "bcrypt", "htpasswd", "randAlphaNum", "randAlpha", "randNumeric", "randAscii"),
        *("randBytes", "randInt", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSignedCert"),
        *("genSelfSignedCertWithKey", "genSignedCertWithKey", "encryptAES"),
    },
    "named templates cannot be evaluated here": {"define", "template", "block"},
}
_TAKES_KEYS: Final = {"get", "hasKey", "index", "dig"}


@dataclass(frozen=True)
class Expression:
    """A template that may be evaluated.

    Parameters
    ----------
    guarded : str
        The same template, which fails where a key is missing.
    keys : frozenset of str
        Keys of the parameters that it uses.
    everything : bool
        Whether it also uses the parameters as a whole.
    """

    guarded: str
    keys: frozenset[str]
    everything: bool


def read(text: str, mark: str = "") -> Expression:
    """Read a template.

    Parameters
    ----------
    text : str
        What stands in the ApplicationSet.
    mark : str, optional
        What the message of a missing key begins with, to tell templates apart.

    Returns
    -------
    Expression
        What it uses.

    Raises
    ------
    ValuesError
        If it has something that Argo CD and Helm do not understand alike.
    """
    reader = _Reader(mark)
    guarded = _ACTION.sub(lambda match: reader.action(match[0]), text)
    return Expression(guarded, frozenset(reader.keys), reader.everything)


class _Reader:
    """Keeps the blocks that are open: inside ``range`` and ``with`` a dot is not the parameters."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.keys: set[str] = set()
        self.everything = False
        self._blocks: list[bool] = []

    def action(self, written: str) -> str:
        if written.lstrip("{- \t\n").startswith("/*"):
            return written
        tokens = list(_TOKEN.finditer(written[2:-2]))
        words = [token["word"] for token in tokens if token["word"]]
        rebound = any(self._blocks)
        out = "".join(self._token(tokens, index, written, rebound=rebound) for index in range(len(tokens)))
        first = words[0] if words else ""
        if first in ("range", "with", "if"):
            self._blocks.append(first != "if")
        elif first == "end" and self._blocks:
            self._blocks.pop()
        return "{{" + out + "}}"

    def _token(self, tokens: list[re.Match[str]], index: int, written: str, *, rebound: bool) -> str:
        token = tokens[index]
        if token["word"]:
            for reason, names in _REFUSED.items():
                if token["word"] in names:
                    raise ValuesError(f"{written} uses {token['word']}: {reason}")
        if token["chain"]:
            if token.start() and tokens[index - 1][0] == ")":
                raise ValuesError(f"{written} takes a field of an expression in brackets; give it a name ($x := ...)")
            return self._chain(token["chain"], tokens, index, rebound=rebound)
        return token[0]

    def _chain(self, chain: str, tokens: list[re.Match[str]], index: int, *, rebound: bool) -> str:
        root, *fields = [chain] if chain == "." else chain.split(".")
        root = root or "."
        parameters = root == "$" or (root == "." and not rebound)
        if not fields:
            if parameters:
                self._whole(tokens, index)
            return chain
        if parameters:
            self.keys.add(fields[0])
        return _guarded(root, fields, self._mark)

    def _whole(self, tokens: list[re.Match[str]], index: int) -> None:
        """Note what a function takes from the parameters, or that they are used in a way that is not known."""
        around = [token for token in tokens if token[0].strip()]
        place = around.index(tokens[index])
        before = around[place - 1][0] if place else ""
        after = around[place + 1]["string"] if place + 1 < len(around) else None
        if before in _TAKES_KEYS and after:
            self.keys.add(after[1:-1])
        else:
            self.everything = True


def _guarded(root: str, fields: list[str], mark: str) -> str:
    whole = "".join(f".{field}" for field in fields)
    path = whole if root == "." else root + whole
    checks = " ".join(f'(hasKey {_join(root, fields[:depth])} "{field}")' for depth, field in enumerate(fields))
    return f'(first (or (and {checks} (list {path})) (fail "{mark}{path} is not defined")))'


def _join(root: str, fields: list[str]) -> str:
    if not fields:
        return root
    return ("" if root == "." else root) + "".join(f".{field}" for field in fields)


def uses(texts: Iterator[str]) -> Expression:
    """Say what several templates use together.

    Parameters
    ----------
    texts : iterator of str
        Templates.

    Returns
    -------
    Expression
        With the keys of all of them.
    """
    keys: frozenset[str] = frozenset()
    everything = False
    for text in texts:
        expression = read(text)
        keys |= expression.keys
        everything |= expression.everything
    return Expression("", keys, everything)
