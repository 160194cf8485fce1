"""Read a values file as Helm reads it.

Helm reads YAML with the Go library sigs.k8s.io/yaml: mostly YAML 1.1, then through JSON, so that every number is a
double and every key a string. PyYAML's own rules differ (``1e3`` is text there, ``1:30`` a number, ``2024-01-01`` a
date, ``y`` text), hence this resolver. ``tests/lockstep/test_yamlfile.py`` compares the two on the same text.

Stricter than Helm on purpose: a key given twice, a second document and a foreign tag are faults in a values file,
where Helm keeps the last key, merges the documents and ignores the tag.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, TypeAlias

import yaml

from lockstep.errors import UsageError, ValuesError

if TYPE_CHECKING:
    from pathlib import Path

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Values: TypeAlias = "dict[str, Value]"

_PLAIN: Final = "?"  # the tag given here to an unquoted scalar without a tag of its own
_STANDARD: Final = "tag:yaml.org,2002:"
_KNOWN_TAGS: Final = {_PLAIN, *(_STANDARD + kind for kind in ("str", "int", "float", "bool", "null", "map", "seq"))}
_BOOLEANS: Final = {
    spelling: value
    for words, value in ((("y", "yes", "on", "true"), True), (("n", "no", "off", "false"), False))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_NULLS: Final = {"", "~", "null", "Null", "NULL"}
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_EXACT: Final = 2**53  # a double holds every integer below
_DIRECTIVE: Final = re.compile(r"(?:[ \t]*(?:#.*)?\n)*%YAML[ \t]+(?!1\.1\b)")
_DOTTED: Final = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")  # read by Go's ParseFloat directly
MAX_DEPTH: Final = 100
MAX_NODES: Final = 100_000  # after aliases are expanded: a few lines of aliases can otherwise grow without bound


def _tag_as_written(
    _loader: object, kind: type[yaml.Node], _value: str | None, implicit: tuple[bool, bool] | bool
) -> str:
    """Tell plain scalars from quoted ones, and leave their meaning to this module."""
    if kind is yaml.ScalarNode:
        return _PLAIN if isinstance(implicit, tuple) and implicit[0] else _STANDARD + "str"
    return _STANDARD + ("seq" if kind is yaml.SequenceNode else "map")


# The C parser is some ten times faster; PyYAML can be built without it.
_Loader: Final = type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {"resolve": _tag_as_written})


def read(path: Path) -> Values:
    """Read the one mapping that a values file holds.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Values
        Its content with Helm's meaning of every scalar; an empty file is an empty mapping.

    Raises
    ------
    UsageError
        If the file is not there or cannot be opened.
    ValuesError
        If its content is not one YAML mapping.
    """
    return parse(text_of(path))


def read_rows(path: Path) -> list[Values]:
    """Read a file that holds one mapping, or a list of them.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of Values
        The mappings; of an empty file one that is empty.

    Raises
    ------
    UsageError
        If the file is not there or cannot be opened.
    ValuesError
        If it holds anything else.
    """
    return parse_rows(text_of(path))


def parse_rows(text: str) -> list[Values]:
    """Read a text that holds one mapping, or a list of them.

    Parameters
    ----------
    text : str
        YAML.

    Returns
    -------
    list of Values
        The mappings; of an empty text one that is empty.

    Raises
    ------
    ValuesError
        If it holds anything else.
    """
    documents = compose(text)
    if len(documents) != 1 or not isinstance(documents[0], yaml.SequenceNode):
        return [parse(text)]
    rows = []
    for node in documents[0].value:
        row = _Builder().value(node)
        if not isinstance(row, dict):
            raise ValuesError(f"the list holds {kind_of(row)}, not only mappings", _line(node))
        rows.append(row)
    return rows


def text_of(path: Path) -> str:
    """Read a file of YAML as text.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Its text, without a byte order mark.

    Raises
    ------
    UsageError
        If the file is not there or cannot be opened.
    ValuesError
        If it is not UTF-8.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValuesError("the file is not UTF-8 text", line) from None


def parse(text: str) -> Values:
    """Read the one mapping that the text of a values file holds.

    Parameters
    ----------
    text : str
        YAML.

    Returns
    -------
    Values
        Its content with Helm's meaning of every scalar; an empty text is an empty mapping.

    Raises
    ------
    ValuesError
        If the text is not one YAML mapping.
    """
    if _DIRECTIVE.match(text):
        raise ValuesError("Helm reads YAML 1.1 and refuses another %YAML version; remove that line")
    documents = [node for node in compose(text) if not _is_null(node)]
    if not documents:
        return {}
    first, *others = documents
    if others:
        raise ValuesError(
            "a second YAML document begins here; a values file holds one (one file is one release)", _line(others[0])
        )
    value = _Builder().value(first)
    if not isinstance(value, dict):
        raise ValuesError(f"the file holds {kind_of(value)}, not a mapping of `key: value` lines", _line(first))
    return value


def parse_all(text: str) -> list[Values]:
    """Read the mappings of a text with several YAML documents, such as a file of manifests.

    Parameters
    ----------
    text : str
        YAML.

    Returns
    -------
    list of Values
        One for each document that is not empty.

    Raises
    ------
    ValuesError
        If a document is not one YAML mapping.
    """
    found: list[Values] = []
    for node in (node for node in compose(text) if not _is_null(node)):
        value = _Builder().value(node)
        if not isinstance(value, dict):
            raise ValuesError(f"a document holds {kind_of(value)}, not an object", _line(node))
        found.append(value)
    return found


def kind_of(value: Value) -> str:
    """Name the kind of a value in words for messages.

    Parameters
    ----------
    value : Value
        Any value.

    Returns
    -------
    str
        For instance ``a list``.
    """
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "a boolean"),
        (int, "an integer"),
        (float, "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "a mapping"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def compose(text: str) -> list[yaml.Node]:
    """Parse a text into the nodes of its documents, which know their lines.

    Parameters
    ----------
    text : str
        YAML.

    Returns
    -------
    list of yaml.Node
        One for each document; a plain scalar has the tag that this module gives it.

    Raises
    ------
    ValuesError
        If the text is not YAML.
    """
    try:
        parser = _Loader(text)
        nodes = []
        while parser.check_node():
            nodes.append(parser.get_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        raise ValuesError(f"not valid YAML: {problem}", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise ValuesError(f"not valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ValuesError(f"nested deeper than {MAX_DEPTH} levels") from None
    return nodes


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _PLAIN and node.value in _NULLS


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Builder:
    """Turns nodes into values, with bounds on depth and size."""

    def __init__(self) -> None:
        self._depth = 0
        self._nodes = 0

    def value(self, node: yaml.Node) -> Value:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ValuesError(f"more than {MAX_NODES} values once aliases (`*name`) are expanded", _line(node))
        if node.tag not in _KNOWN_TAGS:
            raise ValuesError(f"the tag {_short(node.tag)} has no meaning in a values file; remove it", _line(node))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if self._depth >= MAX_DEPTH:
            raise ValuesError(f"nested deeper than {MAX_DEPTH} levels (or an alias that holds itself)", _line(node))
        self._depth += 1
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            return self._mapping(node)
        finally:
            self._depth -= 1

    def _mapping(self, node: yaml.Node) -> Values:
        values: Values = {}
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = key_of(key_node)
            if key in seen:
                raise ValuesError(f"the key `{key}` is given twice (first on line {seen[key]})", _line(key_node))
            seen[key] = _line(key_node)
            if key == "<<" and key_node.tag == _PLAIN:
                values.update(self._merged(value_node))
            else:
                values[key] = self.value(value_node)
        return values

    def _merged(self, node: yaml.Node) -> Values:
        """Read the value of a merge key; the first of several mappings wins."""
        merged: Values = {}
        for part in reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.value(part)
            if not isinstance(value, dict):
                raise ValuesError(f"`<<` takes a mapping, not {kind_of(value)}", _line(part))
            merged.update(value)
        return merged


def key_of(node: yaml.Node) -> str:
    """Give a key as Helm's JSON has it.

    Parameters
    ----------
    node : yaml.Node
        The node of the key.

    Returns
    -------
    str
        Its text.

    Raises
    ------
    ValuesError
        If it is no scalar, or null.
    """
    if not isinstance(node, yaml.ScalarNode) or node.tag not in _KNOWN_TAGS:
        raise ValuesError("a key must be text", _line(node))
    value = node.value if _NOT_FINITE.fullmatch(node.value) else _scalar(node)
    if value is None:
        raise ValuesError("a key must be text, not null", _line(node))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scalar(node: yaml.Node) -> Value:
    text: str = node.value
    if node.tag == _STANDARD + "str":
        return text
    value = _plain(text, _line(node))
    if node.tag == _PLAIN:
        return value
    kind = node.tag.removeprefix(_STANDARD)
    wanted: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
    if not isinstance(value, wanted[kind]) or (kind != "bool" and isinstance(value, bool)):
        raise ValuesError(f"`{text}` is {kind_of(value)}, not what its tag {_short(node.tag)} says", _line(node))
    return value


def _plain(text: str, line: int) -> Value:
    """Give a plain scalar the meaning that go-yaml v2 gives it (its ``resolve``), then JSON's doubles."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValuesError(f"`{text}` is not a number that JSON can hold", line)
    if text.startswith("_") or (text.startswith(".") and not _DOTTED.fullmatch(text)):
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _number(float(_integer(digits)))
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return _number(number) if math.isfinite(number) else text
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits.startswith("-") else 1
    unsigned = digits.lstrip("+-").lower()
    if unsigned.startswith("0") and unsigned.isdigit():
        return sign * int(unsigned, 8)
    return sign * int(unsigned, 0)


def _number(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _short(tag: str) -> str:
    return tag.replace(_STANDARD, "!!")
